#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The program that shows output longer than the screen.
package struct Pager: Sendable, Equatable {
    /// The shell command to run.
    let command: String
    /// The height of the terminal in lines.
    let rows: Int
    /// The width of the terminal in columns.
    let columns: Int
    /// The environment of the pager.
    let environment: [String: String]

    init(command: String, rows: Int, columns: Int, environment: [String: String]) {
        self.command = command
        self.rows = rows
        self.columns = columns
        self.environment = environment
    }

    /// Chooses the pager as other tools do: `ACCOUNTCTL_PAGER`, then `PAGER`, then `less`.
    ///
    /// There is none off a terminal, on a dumb one, if the variable is empty or `cat`, or if the program does not
    /// exist: a missing pager never loses output. `less` is told to exit if the text is short, to keep colours and not
    /// to clear the screen (`LESS=FRX`), unless `LESS` is set.
    ///
    /// The pager inherits no settings of this program or of libpq, since they may be secrets. Under sudo, `less` runs
    /// with another user's rights, so it is told to offer no shell (`LESSSECURE=1`).
    ///
    /// - Parameters:
    ///   - style: the capabilities of the stream.
    ///   - rows: the height that the terminal reports, if any; `LINES` overrides it.
    ///   - environment: the variables of the process.
    ///   - isInstalled: whether a program can be run.
    /// - Returns: the pager; nil if text is to be written directly.
    package static func decide(
        style: StreamStyle,
        rows: Int?,
        environment: [String: String],
        isInstalled: (String) -> Bool
    ) -> Pager? {
        guard style.isTerminal, let columns = style.width, environment["TERM"] != "dumb" else { return nil }
        let stated = environment["LINES"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        guard let rows = stated ?? rows, rows > 1 else { return nil }
        let command = environment["ACCOUNTCTL_PAGER"] ?? environment["PAGER"] ?? "less"
        guard let program = command.split(separator: " ").first.map(String.init), command != "cat" else { return nil }
        guard isInstalled(program) else { return nil }
        return Pager(
            command: command,
            rows: rows,
            columns: columns,
            environment: variables(from: environment)
        )
    }

    private static func variables(from environment: [String: String]) -> [String: String] {
        var variables = environment.filter { !$0.key.hasPrefix("ACCOUNTCTL_") && !$0.key.hasPrefix("PG") }
        if variables["LESS"] == nil { variables["LESS"] = "FRX" }
        if environment["SUDO_UID"] != nil || environment["SUDO_USER"] != nil { variables["LESSSECURE"] = "1" }
        return variables
    }

    /// Whether a program exists in one of the folders of `PATH`, or at its own path.
    package static func isInstalled(_ program: String, path: String) -> Bool {
        if program.contains("/") { return access(program, X_OK) == 0 }
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// The number of screen lines that a text takes.
    func height(of text: String) -> Int {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().reduce(0) { sum, line in
            sum + max(1, (line.count + columns - 1) / columns)
        }
    }
}
