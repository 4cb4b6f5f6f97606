import Sealing
import Terminal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Files of keys, none of which is ever written over: what a key sealed, no other opens.
enum KeyFile {
    /// What to do where the settings name none.
    static let hintWhereMissing = """
        Name the file of the key that this database was worked on with; only where it never was, make one: accountctl \
        keys new ID --output FILE
        """

    /// Writes a file of one key that only its owner may read.
    ///
    /// - Throws: ``CommandError`` when there is a file already, or none can be made.
    static func create(_ path: String, with key: SealingKey) async throws {
        try await PrivateFile.write(
            path,
            replaces: false,
            ifThere: "A file of keys is not replaced. Give another name, or --append where it holds the sealing keys."
        ) { descriptor in
            try DescriptorSink(descriptor: descriptor).write(key.fileLine.reveal() + "\n")
        }
    }

    /// Whether two paths lead to one file that is there, by whatever links.
    static func isSame(_ path: String, as other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(path, &first) == 0 && stat(other, &second) == 0
            && first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Adds a key at the end of a file of keys, as the one that seals from now on.
    ///
    /// The file stays the same one, with its owner and its rights.
    ///
    /// - Throws: ``CommandError`` when the file cannot be read as keys or written, or has a key of this id.
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
            throw CommandError(.usage, "\(path) is no file of keys: \(error)")
        }
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandError.cannotWrite(path) }
        defer { close(descriptor) }
        // A line that somebody left unended is not to become one with ours.
        let start = text.isEmpty || text.last == "\n" ? "" : "\n"
        var before = stat()
        guard fstat(descriptor, &before) == 0 else { throw CommandError.cannotWrite(path) }
        do {
            try DescriptorSink(descriptor: descriptor).write(start + key.fileLine.reveal() + "\n")
            guard fsync(descriptor) == 0 else { throw CommandError.cannotWrite(path) }
        } catch {
            // Half a line would make every key of the file unreadable.
            _ = ftruncate(descriptor, before.st_size)
            throw error
        }
    }
}
