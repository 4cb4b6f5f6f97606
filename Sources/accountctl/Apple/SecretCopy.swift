import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that holds a secret and that its owner alone may read; replaced as a whole or not at all.
struct SecretCopy {
    let path: String

    private var interim: String { path + ".new" }

    /// Writes the secret beside the file.
    ///
    /// - Throws: ``CommandError`` when it cannot be written.
    func prepare(_ secret: Secret<String>) throws {
        discard()
        let isWritten = FileManager.default.createFile(
            atPath: interim,
            contents: Data((secret.reveal() + "\n").utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw CommandError(.failure, "cannot write \(interim): nothing was changed") }
    }

    /// Puts what was prepared in the file's place.
    ///
    /// - Throws: ``CommandError`` when the file cannot be replaced; the secret still lies beside it then.
    func publish() throws {
        guard rename(interim, path) == 0 else {
            throw CommandError(.failure, "the secret is in use, but \(path) cannot be replaced: it lies in \(interim)")
        }
    }

    /// Removes what was prepared.
    func discard() {
        try? FileManager.default.removeItem(atPath: interim)
    }
}
