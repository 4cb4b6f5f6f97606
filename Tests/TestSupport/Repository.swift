import Foundation

/// The checkout that the tests were built from.
package enum Repository {
    /// Returns the absolute path of a file or folder that is given relative to the top of the checkout.
    package static func path(_ relative: String) -> String {
        URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(relative).path
    }

    /// Returns the paths of the Swift files below a folder of the checkout, in no particular order.
    package static func swiftFiles(below folder: String) -> [String] {
        FileManager.default.enumerator(atPath: path(folder))?
            .compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
            .map { path(folder) + "/" + $0 } ?? []
    }

    /// Returns the paths of the `.sql` files in a folder of the checkout, sorted by name.
    package static func sqlFiles(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(folder))
            .filter { $0.hasSuffix(".sql") }
            .sorted()
            .map { path(folder) + "/" + $0 }
    }
}
