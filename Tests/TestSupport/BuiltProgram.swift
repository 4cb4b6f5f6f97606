package import Foundation

/// Executables of this package that tests start.
package enum BuiltProgram {
    /// Finds an executable by name; the build puts it beside the test bundle.
    package static func url(_ name: String) throws -> URL {
        let folders = [Bundle.main.executableURL, URL(fileURLWithPath: CommandLine.arguments[0])]
            .compactMap { $0?.deletingLastPathComponent() }
        for folder in folders {
            let url = folder.appendingPathComponent(name)
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw TestSupportError("\(name) is not built")
    }
}
