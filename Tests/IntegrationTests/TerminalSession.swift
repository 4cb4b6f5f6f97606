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
        let (input, output) = (folder.appendingPathComponent("in"), folder.appendingPathComponent("out"))
        try Data(typing.utf8).write(to: input)
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = words(arguments, rows: rows, columns: columns)
        process.environment = variables(folder, environment)
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
        let screen = try String(contentsOf: output, encoding: .utf8).replacingOccurrences(of: "\r\n", with: "\n")
        return Result(status: process.terminationStatus, screen: screen)
    }

    /// Runs the program while `body` reads the screen and types; what still runs afterwards is ended.
    static func live(
        _ arguments: [String],
        environment: [String: String] = [:],
        _ body: (Person) async throws -> Void
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tty-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let output = folder.appendingPathComponent("out")
        try Data().write(to: output)
        let keyboard = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = words(arguments, rows: 24, columns: 80)
        process.environment = variables(folder, environment)
        process.standardInput = keyboard
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        let person = Person(process: process, keyboard: keyboard.fileHandleForWriting, output: output)
        do {
            try await body(person)
        } catch {
            process.terminate()
            throw error
        }
        while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
        return Result(status: process.terminationStatus, screen: person.screen)
    }

    /// Somebody at the terminal.
    struct Person {
        fileprivate let process: Process
        fileprivate let keyboard: FileHandle
        fileprivate let output: URL

        /// All that was shown so far.
        var screen: String {
            let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            return text.replacingOccurrences(of: "\r\n", with: "\n")
        }

        /// Types.
        func type(_ text: String) throws {
            try keyboard.write(contentsOf: Data(text.utf8))
        }

        /// Waits until a text is shown; false when the program ended without.
        func waits(for text: String) async throws -> Bool {
            while process.isRunning {
                if screen.contains(text) { return true }
                try await Task.sleep(for: .milliseconds(10))
            }
            return screen.contains(text)
        }
    }

    private static func words(_ arguments: [String], rows: Int, columns: Int) -> [String] {
        let words = ([AccountctlProcess.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        return ["-qec", "stty rows \(rows) cols \(columns) -echo; exec \(words)", "/dev/null"]
    }

    private static func variables(_ folder: URL, _ own: [String: String]) -> [String: String] {
        ["PATH": "/usr/bin:/bin", "HOME": folder.path, "TERM": "xterm", "SHELL": "/bin/sh"].merging(own) { $1 }
    }
}
