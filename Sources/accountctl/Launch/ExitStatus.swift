/// How a command ended, for scripts and monitoring; the numbers are part of the interface.
enum ExitStatus: Int32, Sendable, CaseIterable {
    /// Done.
    case ok = 0
    /// Failed for a reason that no other status covers.
    case failure = 1
    /// The command line was wrong, or a confirmation was declined.
    case usage = 2
    /// The requested item does not exist.
    case notFound = 3
    /// The role, key or credential may not do this.
    case notAuthorised = 4
    /// Personal data was left behind, or the database differs from what it should be.
    case residue = 5
    /// Something forbids it: a legal hold, a constraint, a column without a decision, a pause.
    case blocked = 6
    /// It works, but something about it should be fixed.
    case advice = 7
    /// The checked item does not work.
    case broken = 8
    /// Worth trying again: the database or a service could not be reached, or was busy.
    case temporary = 75
    /// Interrupted from the keyboard.
    case interrupted = 130
    /// The reader of the output closed it, as `| head` does.
    case outputClosed = 141

    /// What the status means, in a few words.
    var meaning: String {
        switch self {
        case .ok: "done"
        case .failure: "failed"
        case .usage: "wrong usage, or a confirmation was declined"
        case .notFound: "not found"
        case .notAuthorised: "not authorised"
        case .residue: "residue or drift found"
        case .blocked: "blocked (hold, constraint, pause)"
        case .advice: "works, but something should be fixed"
        case .broken: "what was checked does not work"
        case .temporary: "temporary failure, try again"
        case .interrupted: "interrupted"
        case .outputClosed: "the reader closed the output"
        }
    }

    /// The table of exit codes in the help.
    static let table = allCases.reduce(into: "") { table, status in
        let number = String(status.rawValue)
        if !table.isEmpty { table += "\n" }
        table += "  " + String(repeating: " ", count: 3 - number.utf8.count) + number + "  " + status.meaning
    }
}
