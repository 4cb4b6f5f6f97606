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

/// A file that holds a secret; it is replaced atomically and keeps its owner, group and mode.
///
/// The secret is often renewed by another user than the worker's, who has to read it. A new file may be read by its
/// creator alone.
struct SecretCopy {
    private let path: String
    /// The file itself, with links resolved, so that a symbolic link to it stays one.
    private let target: String
    /// The status of the file that is replaced; nil if there is none.
    private let old: stat?

    /// Whether there is no file yet.
    var isNew: Bool { old == nil }

    private var interim: String { target + ".new" }

    /// Examines the file that is to be replaced.
    ///
    /// - Throws: ``CommandError`` if the path is not a plain file, or cannot be examined.
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

    /// Writes the secret to an interim file beside the target.
    ///
    /// - Throws: ``CommandError`` if the file cannot be written, or cannot be given the owner of the old one.
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

    /// Renames the interim file to the target.
    ///
    /// - Throws: ``CommandError`` if the file cannot be replaced; the interim file is then kept.
    func publish() throws(CommandError) {
        guard rename(interim, target) == 0 else {
            throw CommandError(.failure, "the secret is in use, but \(path) cannot be replaced: it is in \(interim)")
        }
    }

    /// Removes the interim file.
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
