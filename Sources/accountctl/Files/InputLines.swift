import Sealing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads the lines of a file or of standard input in chunks, so that memory use does not grow with the length of the
/// list.
enum InputLines {
    /// Passes each line, without its line end and byte order marks before it, its number from 1 and its length in the
    /// file to `body`.
    ///
    /// Editors on Windows write such a mark at the start of a file, which may have been joined with others, also with an
    /// empty one.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - longest: the most bytes kept of a line; longer lines, which no valid list has, are truncated.
    ///   - body: receives a line, in which bytes that are not UTF-8 are replaced; its length counts the bytes before the
    ///     newline.
    /// - Throws: ``CommandError`` if the file cannot be read; the errors of `body`.
    static func forEach(
        in path: String,
        longest: Int = 4096,
        _ body: (_ number: Int, _ line: String, _ length: Int) throws -> Void
    ) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { if path != "-" { close(descriptor) } }
        var (number, length) = (0, 0)
        var line: [UInt8] = []
        func end() throws {
            number += 1
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            let mark = Character.byteOrderMark.utf8
            while line.starts(with: mark) { line.removeFirst(mark.count) }
            try body(number, String(decoding: line, as: UTF8.self), length)
            line.removeAll(keepingCapacity: true)
            length = 0
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure(path)
            }
            if count == 0 { break }
            for byte in chunk[..<count] {
                if byte == UInt8(ascii: "\n") {
                    try end()
                    continue
                }
                length += 1
                if line.count < longest { line.append(byte) }
            }
        }
        if !line.isEmpty { try end() }
    }

    /// Passes each line to `body` like ``forEach(in:longest:_:)``, but collects every ``LineProblem`` that it throws
    /// and continues with the next line.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - longest: the most bytes kept of a line; longer lines are truncated.
    ///   - problems: receives the problems with their line numbers.
    ///   - body: receives a line.
    /// - Throws: ``CommandError`` if the file cannot be read; the other errors of `body`.
    static func forEach(
        in path: String,
        longest: Int = 4096,
        collecting problems: inout LineProblems,
        _ body: (_ line: String) throws -> Void
    ) throws {
        try forEach(in: path, longest: longest) { number, line, _ in
            do {
                try body(line)
            } catch let problem as LineProblem {
                problems.add("line \(number): \(problem.words)")
            }
        }
    }

    /// The name of the input in messages.
    static func name(of path: String) -> String { path == "-" ? "standard input" : path }

    private static func failure(_ path: String) -> CommandError {
        let reason = String(cString: strerror(errno))
        return CommandError(.usage, "cannot read \(name(of: path)): \(reason)")
    }
}
