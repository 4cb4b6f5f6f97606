import Foundation

/// The program at a terminal of a given size, by `script` (bsdutils, on every Debian).
enum TerminalSession {
    /// What the terminal showed, and how the program ended.
    struct Result {
        let status: Int32
        let screen: String
    }

    /// Runs the program with a person's typing.
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        typing: String = "",
        rows: Int = 24,
        columns: Int = 80
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tty-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let words = ([AccountctlProcess.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let (input, output) = (folder.appendingPathComponent("in"), folder.appendingPathComponent("out"))
        try Data(typing.utf8).write(to: input)
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = ["-qec", "stty rows \(rows) cols \(columns) -echo; exec \(words)", "/dev/null"]
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "TERM": "xterm", "SHELL": "/bin/sh"]
            .merging(environment) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
        let screen = try String(contentsOf: output, encoding: .utf8).replacingOccurrences(of: "\r\n", with: "\n")
        return Result(status: process.terminationStatus, screen: screen)
    }
}
