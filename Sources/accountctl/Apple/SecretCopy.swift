import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that holds a secret; replaced as a whole or not at all, and whose it was it stays.
///
/// Whoever renews the secret is often another user than the worker, who has to read it: owner, group and mode are those
/// of the old file. A new one its maker alone may read.
struct SecretCopy {
    private let path: String
    /// The file itself: a link to it stays one.
    private let target: String
    /// The file that is replaced; nil where there is none.
    private let old: stat?

    /// Whether there is none yet.
    var isNew: Bool { old == nil }

    private var interim: String { target + ".new" }

    /// Looks at the file that is to be replaced.
    ///
    /// - Throws: ``CommandError`` when it is none, or cannot be looked at.
    init(path: String) throws(CommandError) {
        self.path = path
        var found = stat()
        guard stat(path, &found) == 0 else {
            guard errno == ENOENT else { throw Self.failure("cannot look at \(path)") }
            (target, old) = (path, nil)
            return
        }
        guard found.st_mode & S_IFMT == S_IFREG else {
            throw CommandError(.usage, "\(path) is not a plain file", hint: "Name a file.")
        }
        guard let resolved = realpath(path, nil) else { throw Self.failure("cannot look at \(path)") }
        defer { free(resolved) }
        (target, old) = (String(cString: resolved), found)
    }

    /// Writes the secret beside the file.
    ///
    /// - Throws: ``CommandError`` when it cannot be written, or not as a file of the old one's owner.
    func prepare(_ secret: Secret<String>) throws(CommandError) {
        discard()
        let descriptor = open(interim, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("cannot write \(interim)") }
        defer { close(descriptor) }
        do {
            try keepOwner(descriptor)
            try write(secret.reveal() + "\n", to: descriptor)
        } catch {
            discard()
            throw error
        }
    }

    /// Puts what was prepared in the file's place.
    ///
    /// - Throws: ``CommandError`` when the file cannot be replaced; the secret still lies beside it then.
    func publish() throws(CommandError) {
        guard rename(interim, target) == 0 else {
            throw CommandError(.failure, "the secret is in use, but \(path) cannot be replaced: it lies in \(interim)")
        }
    }

    /// Removes what was prepared.
    func discard() {
        unlink(interim)
    }

    private func keepOwner(_ descriptor: Int32) throws(CommandError) {
        guard let old else { return }
        guard fchown(descriptor, old.st_uid, old.st_gid) == 0, fchmod(descriptor, old.st_mode & 0o777) == 0 else {
            throw CommandError(
                .failure,
                "\(path) belongs to another user or group (\(old.st_uid):\(old.st_gid)), who could not read it afterwards: "
                    + "nothing was changed",
                hint: "Run this as root, or as that user."
            )
        }
    }

    private func write(_ text: String, to descriptor: Int32) throws(CommandError) {
        do {
            try DescriptorSink(descriptor: descriptor).write(text)
        } catch {
            throw Self.failure("cannot write \(interim)", (error as? OutputFailed)?.code ?? EPIPE)
        }
        guard fsync(descriptor) == 0 else { throw Self.failure("cannot write \(interim)") }
    }

    private static func failure(_ what: String, _ code: Int32 = errno) -> CommandError {
        CommandError(.failure, "\(what): \(String(cString: strerror(code))); nothing was changed")
    }
}
