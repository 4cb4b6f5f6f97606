#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The lines of a file or of standard input, read in pieces: a long list needs no memory of its own.
enum InputLines {
    /// Gives each line, without its end, to `body`, with its number from 1.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - longest: a line of more bytes is cut: nothing that a list holds is.
    ///   - body: takes a line; bytes that are not UTF-8 are replaced.
    /// - Throws: ``CommandError`` when the file cannot be read, and what `body` throws.
    static func forEach(
        in path: String,
        longest: Int = 4096,
        _ body: (_ number: Int, _ line: String) throws -> Void
    ) throws {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { if path != "-" { close(descriptor) } }
        var number = 0
        var line: [UInt8] = []
        func end() throws {
            number += 1
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            try body(number, String(decoding: line, as: UTF8.self))
            line.removeAll(keepingCapacity: true)
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
                } else if line.count < longest {
                    line.append(byte)
                }
            }
        }
        if !line.isEmpty { try end() }
    }

    /// Gives each line to `body`, as ``forEach(in:longest:_:)`` does, and goes on behind those that it throws a
    /// ``LineProblem`` for.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - longest: a line of more bytes is cut.
    ///   - problems: what is wrong with which lines is added to it.
    ///   - body: takes a line.
    /// - Throws: ``CommandError`` when the file cannot be read, and what else `body` throws.
    static func forEach(
        in path: String,
        longest: Int = 4096,
        collecting problems: inout LineProblems,
        _ body: (_ line: String) throws -> Void
    ) throws {
        try forEach(in: path, longest: longest) { number, line in
            do {
                try body(line)
            } catch let problem as LineProblem {
                problems.add("line \(number): \(problem.words)")
            }
        }
    }

    private static func failure(_ path: String) -> CommandError {
        let name = path == "-" ? "standard input" : path
        return CommandError(.usage, "cannot read \(name): \(String(cString: strerror(errno)))")
    }
}
