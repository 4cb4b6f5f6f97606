#if canImport(Glibc)
    import Glibc
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
    ///   - advice: what to do where it is there already.
    ///   - body: writes.
    /// - Returns: What `body` returns.
    /// - Throws: ``CommandError`` when the file cannot be made, and what `body` throws; nothing is left behind then.
    static func write<Result>(
        _ path: String,
        replaces: Bool,
        ifThere advice: String = "Give --force to replace it, or another name.",
        _ body: (_ descriptor: Int32) async throws -> Result
    ) async throws -> Result {
        var found = stat()
        if stat(path, &found) == 0 {
            guard found.st_mode & S_IFMT != S_IFDIR else {
                throw CommandError(.usage, "\(path) is a folder", hint: "Name a file in it.")
            }
            if !replaces { throw exists(path, advice) }
        }
        let partial = path + ".partial-\(getpid())"
        let file = try NamelessFile(near: path, partial: partial) ?? { throw CommandError.cannotWrite(path) }()
        defer { file.remove() }
        let result = try await body(file.descriptor)
        guard fsync(file.descriptor) == 0 else { throw CommandError.cannotWrite(path) }
        if replaces {
            // What is whole takes a name beside the old file, and then its place.
            guard file.takeName(partial) else { throw CommandError.cannotWrite(path) }
            guard rename(partial, path) == 0 else {
                let error = CommandError.cannotWrite(path)
                unlink(partial)
                throw error
            }
        } else if !file.takeName(path) {
            // Not by a look beforehand alone: somebody else may write there meanwhile.
            throw errno == EEXIST ? exists(path, advice) : CommandError.cannotWrite(path)
        }
        return result
    }

    private static func exists(_ path: String, _ advice: String) -> CommandError {
        CommandError(.usage, "\(path) is there already", hint: advice)
    }
}
