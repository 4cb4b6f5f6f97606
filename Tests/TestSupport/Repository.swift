import Foundation

/// The checkout that the tests were built from.
package enum Repository {
    /// The path of a file or folder, given relative to the top of the checkout.
    package static func path(_ relative: String) -> String {
        URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(relative).path
    }

    /// The paths of the Swift files below a folder of the checkout, in no order.
    package static func swiftFiles(below folder: String) -> [String] {
        FileManager.default.enumerator(atPath: path(folder))?
            .compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
            .map { path(folder) + "/" + $0 } ?? []
    }

    /// The names of the files in a folder of the checkout that end in `.sql`, in order.
    package static func sqlFiles(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(folder))
            .filter { $0.hasSuffix(".sql") }
            .sorted()
            .map { path(folder) + "/" + $0 }
    }
}
