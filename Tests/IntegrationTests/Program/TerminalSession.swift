import Foundation

/// The program at a terminal of a given size, by `script` (bsdutils, on every Debian).
enum TerminalSession {
    /// What the terminal showed, and how the program ended.
    struct Result {
        let status: Int32
        let screen: String
    }

    /// Runs the program at a terminal, with what a person types.
    static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        typing: String = "",
        rows: Int = 24,
        columns: Int = 80
    ) async throws -> Result {
        let result = try await AccountctlProcess(
            words(arguments, rows: rows, columns: columns),
            environment: variables(environment),
            input: typing,
            program: "/usr/bin/script"
        ).result()
        return Result(status: result.status, screen: shown(result.output))
    }

    /// Runs the program while `body` reads the screen and types, and waits for its end; ends it if `body` throws.
    static func live(
        _ arguments: [String],
        environment: [String: String] = [:],
        _ body: (Person) async throws -> Void
    ) async throws -> Result {
        let keyboard = Pipe()
        let process = try AccountctlProcess(
            words(arguments, rows: 24, columns: 80),
            environment: variables(environment),
            typed: keyboard,
            program: "/usr/bin/script"
        )
        do {
            try await body(Person(process: process, keyboard: keyboard.fileHandleForWriting))
        } catch {
            process.signal(SIGTERM)
            throw error
        }
        let result = try await process.result()
        return Result(status: result.status, screen: shown(result.output))
    }

    /// Somebody at the terminal.
    struct Person {
        fileprivate let process: AccountctlProcess
        fileprivate let keyboard: FileHandle

        /// All that was shown so far.
        var screen: String { TerminalSession.shown(process.outputSoFar) }

        /// Types a text.
        func type(_ text: String) throws {
            try keyboard.write(contentsOf: Data(text.utf8))
        }

        /// Waits until a text is shown; false if the program ended without.
        func waits(for text: String) async throws -> Bool {
            try await process.waitForOutput { TerminalSession.shown($0).contains(text) }
        }
    }

    /// The text with plain line ends, since a terminal ends lines with CR LF.
    private static func shown(_ text: String) -> String {
        text.replacingOccurrences(of: "\r\n", with: "\n")
    }

    private static func words(_ arguments: [String], rows: Int, columns: Int) -> [String] {
        let words = ([AccountctlProcess.path] + arguments).map { "'\($0)'" }.joined(separator: " ")
        // Tests that run in the background have the terminal's signals ignored; in a person's shell they are not.
        let started = "/usr/bin/env --default-signal=INT,HUP \(words)"
        return ["-qec", "stty rows \(rows) cols \(columns) -echo; exec \(started)", "/dev/null"]
    }

    private static func variables(_ own: [String: String]) -> [String: String] {
        ["TERM": "xterm", "SHELL": "/bin/sh"].merging(own) { $1 }
    }
}
