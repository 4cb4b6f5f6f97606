#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that only its owner may read, and that is there whole or not at all.
enum PrivateFile {
    /// Gives `body` the descriptor of a new file, which takes its name when `body` returns.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - replaces: whether a file that is there already is replaced; else it stays, and this throws.
    ///   - body: writes.
    /// - Returns: What `body` returns.
    /// - Throws: ``CommandError`` when the file cannot be made, and what `body` throws; nothing is left behind then.
    static func write<Result>(
        _ path: String,
        replaces: Bool,
        _ body: (_ descriptor: Int32) async throws -> Result
    ) async throws -> Result {
        if !replaces, access(path, F_OK) == 0 { throw exists(path) }
        let partial = path + ".partial-\(getpid())"
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer {
            close(descriptor)
            unlink(partial)
        }
        let result = try await body(descriptor)
        guard fsync(descriptor) == 0 else { throw failure(path) }
        if replaces {
            guard rename(partial, path) == 0 else { throw failure(path) }
        } else if link(partial, path) != 0 {
            // Not by a look beforehand alone: somebody else may write there meanwhile.
            throw errno == EEXIST ? exists(path) : failure(path)
        }
        return result
    }

    private static func exists(_ path: String) -> CommandError {
        CommandError(.usage, "\(path) is there already", hint: "Give --force to replace it, or another name.")
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError(.failure, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
