import Sealing
import Terminal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Key files, which are never overwritten: no other key opens what a lost key sealed.
enum KeyFile {
    /// The hint if the settings name no key file.
    static let hintWhereMissing = """
        Name the file of the key that was used with this database before; only if there was none, create one: \
        accountctl keys new ID --output FILE
        """

    /// Writes a file with one key that only its owner may read.
    ///
    /// - Throws: ``CommandError`` if the file exists already or cannot be created.
    static func create(_ path: String, with key: SealingKey) async throws {
        try await PrivateFile.write(
            path,
            replaces: false,
            ifThere: "A key file is never replaced. Give another name, or use --append if it holds the sealing keys."
        ) { descriptor in
            try DescriptorSink(descriptor: descriptor).write(key.fileLine.reveal() + "\n")
        }
    }

    /// Whether two paths lead to the same existing file, through whatever links.
    static func isSame(_ path: String, as other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(path, &first) == 0 && stat(other, &second) == 0
            && first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Appends a key to a key file, as the one that seals from now on.
    ///
    /// The file is not replaced, so that it keeps its owner and permissions.
    ///
    /// - Throws: ``CommandError`` if the file cannot be read as keys or written, or already has a key of this id.
    static func append(_ key: SealingKey, to path: String) throws {
        let text: String
        do {
            let contents = try SecretFile.readText(path)
            guard try !KeyRing(fileText: contents).contains(key.id) else {
                throw CommandError(.usage, "\(path) has a key \(key.id) already", hint: "Give the new key another id.")
            }
            text = contents.reveal()
        } catch let error as SecretFile.Failure {
            throw CommandError(.usage, "cannot read \(error)")
        } catch let error as KeyRingProblems {
            throw CommandError(.usage, "\(path) is not a key file: \(error)")
        }
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError.cannotWrite(path) }
        defer { close(descriptor) }
        // An unterminated last line must not run into the new one.
        let start = text.isEmpty || text.last == "\n" ? "" : "\n"
        var before = stat()
        guard fstat(descriptor, &before) == 0 else { throw CommandError.cannotWrite(path) }
        do {
            try DescriptorSink(descriptor: descriptor).write(start + key.fileLine.reveal() + "\n")
            guard fsync(descriptor) == 0 else { throw CommandError.cannotWrite(path) }
        } catch {
            // A partial line would make every key of the file unreadable.
            _ = ftruncate(descriptor, before.st_size)
            throw error
        }
    }
}
