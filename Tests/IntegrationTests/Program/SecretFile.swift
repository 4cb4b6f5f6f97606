import Foundation
import TestSupport

/// Files that only their owner can read.
enum SecretFile {
    /// Writes a file that only its owner can read, and returns its path.
    @discardableResult
    static func write(_ text: String, to url: URL) throws -> String {
        let isWritten = FileManager.default.createFile(
            atPath: url.path,
            contents: Data(text.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw TestSupportError("cannot write \(url.path)") }
        return url.path
    }
}
