#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Writes files that only their owner may read, and that appear complete or not at all.
enum PrivateFile {
    /// Gives `body` the descriptor of a new file, which gets its name when `body` returns.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - replaces: whether an existing file is replaced; otherwise it stays, and this throws.
    ///   - advice: the hint if the file exists already.
    ///   - body: writes the contents.
    /// - Returns: What `body` returns.
    /// - Throws: ``CommandError`` if the file cannot be created, and whatever `body` throws; nothing is left behind
    ///   then.
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
            // A new file would take the place of a pipe or a device, even of /dev/null.
            guard found.st_mode & S_IFMT == S_IFREG else {
                throw CommandError(.usage, "\(path) is a pipe, a device or a socket", hint: "Name a file.")
            }
            guard !leadsToOpenFile(path) else {
                throw CommandError(.usage, "\(path) is a link to an open file of the program", hint: "Name a file.")
            }
            if !replaces { throw exists(path, advice) }
        }
        let partial = path + ".partial-\(getpid())"
        let file = try NamelessFile(near: path, partial: partial) ?? { throw CommandError.cannotWrite(path) }()
        defer { file.remove() }
        let result = try await body(file.descriptor)
        guard fsync(file.descriptor) == 0 else { throw CommandError.cannotWrite(path) }
        if replaces {
            // The complete file gets a name beside the old file, and is then renamed over it.
            guard file.takeName(partial) else { throw CommandError.cannotWrite(path) }
            guard rename(partial, path) == 0 else {
                let error = CommandError.cannotWrite(path)
                unlink(partial)
                throw error
            }
        } else if !file.takeName(path) {
            // The check at the start is not enough: another process may have created the file meanwhile.
            throw errno == EEXIST ? exists(path, advice) : CommandError.cannotWrite(path)
        }
        return result
    }

    /// Whether a path is a link such as `/dev/stdout`, whose place a new file would take for all programs.
    private static func leadsToOpenFile(_ path: String) -> Bool {
        let start = Array("/proc/self/fd/".utf8)
        var target = [CChar](repeating: 0, count: start.count)
        let length = readlink(path, &target, target.count)
        return length == start.count && target.map(UInt8.init(bitPattern:)) == start
    }

    private static func exists(_ path: String, _ advice: String) -> CommandError {
        CommandError(.usage, "\(path) exists already", hint: advice)
    }
}
