import Sealing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Files of keys, none of which is ever written over: what a key sealed, no other opens.
enum KeyFile {
    /// Writes a file of one key that only its owner may read.
    ///
    /// - Throws: ``CommandError`` when there is a file already, or none can be made.
    static func create(_ path: String, with key: SealingKey) async throws {
        try await PrivateFile.write(
            path,
            replaces: false,
            ifThere: "A file of keys is not replaced. Give --append to add the key to it, or another name."
        ) { descriptor in
            try write(key.fileLine.reveal() + "\n", to: descriptor, path)
        }
    }

    /// Adds a key at the end of a file of keys, as the one that seals from now on.
    ///
    /// The file stays the same one, with its owner and its rights.
    ///
    /// - Throws: ``CommandError`` when the file cannot be read as keys or written, or has a key of this id.
    static func append(_ key: SealingKey, to path: String) throws {
        let text: String
        do {
            guard let contents = try SecretFile.read(path).text else {
                throw CommandError(.usage, "\(path) is not UTF-8 text")
            }
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
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        // A line that somebody left unended is not to become one with ours.
        let start = text.isEmpty || text.last == "\n" ? "" : "\n"
        try write(start + key.fileLine.reveal() + "\n", to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }

    private static func write(_ text: String, to descriptor: Int32, _ path: String) throws {
        let bytes = Array(text.utf8)
        #if canImport(Glibc)
            let count = Glibc.write(descriptor, bytes, bytes.count)
        #elseif canImport(Musl)
            let count = Musl.write(descriptor, bytes, bytes.count)
        #else
            let count = Darwin.write(descriptor, bytes, bytes.count)
        #endif
        guard count == bytes.count else { throw failure(path) }
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError(.failure, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
