#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The program that shows what is longer than the screen.
package struct Pager: Sendable, Equatable {
    /// What the shell is to run.
    let command: String
    /// The lines of the terminal.
    let rows: Int
    /// The columns of the terminal.
    let columns: Int
    /// The variables the pager is started with.
    let environment: [String: String]

    init(command: String, rows: Int, columns: Int, environment: [String: String]) {
        self.command = command
        self.rows = rows
        self.columns = columns
        self.environment = environment
    }

    /// Decides by the habits of other tools: `ACCOUNTCTL_PAGER`, then `PAGER`, then `less`.
    ///
    /// None off a terminal, on a dumb one, when the variable is empty or `cat`, or when there is no such program:
    /// output is never lost for want of a pager. `less` is told to leave short text alone, keep colours and not to
    /// clear the screen (`LESS=FRX`), unless `LESS` says something else.
    ///
    /// A pager is handed no settings of this program and none of libpq, which may be secrets. Below sudo the person is
    /// not the user that it runs as, and `less` is told to give no shell (`LESSSECURE=1`).
    ///
    /// - Parameters:
    ///   - style: what the stream can show.
    ///   - rows: what the terminal says of its height, if it does; `LINES` overrides it.
    ///   - environment: the variables of the process.
    ///   - isInstalled: whether a program can be run.
    /// - Returns: the pager, nil when text is to be written as it is.
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

    /// Whether a program lies in one of the folders of `PATH`, or at the path it is called by.
    package static func isInstalled(_ program: String, path: String) -> Bool {
        if program.contains("/") { return access(program, X_OK) == 0 }
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    /// How many lines of the screen a text takes.
    func height(of text: String) -> Int {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().reduce(0) { sum, line in
            sum + max(1, (line.count + columns - 1) / columns)
        }
    }
}
