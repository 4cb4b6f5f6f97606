/// What went wrong between this program and the database.
///
/// `description` is safe to log: it has codes and the names of schema objects, never the server's message or detail,
/// which quote values. `debugDescription` tells those too, but no parameters and no password.
package struct PostgresError: Error, Sendable {
    /// What kind of thing went wrong.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case server, connectionFailed, connectionLost, connectionBusy, commitInDoubt, deadlineExceeded, abandoned
            case unexpectedRowCount, unexpectedColumns, decoding, encoding, transactionState, transactionRolledBack
            case poolExhausted, poolClosed, configuration, tlsRequired, notBehindPooler, unexpectedResult, resources
        }

        private let name: Name

        private init(_ name: Name) {
            self.name = name
        }

        package var description: String { name.rawValue }

        /// The server refused a statement; the SQLSTATE tells why.
        package static let server = Code(.server)
        /// No connection could be made.
        package static let connectionFailed = Code(.connectionFailed)
        /// The connection broke; what ran may or may not have had effect unless it was in a transaction not committed.
        package static let connectionLost = Code(.connectionLost)
        /// The connection is in the middle of a stream.
        package static let connectionBusy = Code(.connectionBusy)
        /// The connection broke during COMMIT: look at the data before doing it again.
        package static let commitInDoubt = Code(.commitInDoubt)
        /// The statement's deadline came and the server cancelled it.
        package static let deadlineExceeded = Code(.deadlineExceeded)
        /// A cancelled statement did not end in time and the connection was dropped.
        package static let abandoned = Code(.abandoned)
        /// More rows or fewer than asked for.
        package static let unexpectedRowCount = Code(.unexpectedRowCount)
        /// The statement returns another number of columns than asked for.
        package static let unexpectedColumns = Code(.unexpectedColumns)
        /// A value that its Swift type cannot hold.
        package static let decoding = Code(.decoding)
        /// A parameter that cannot be sent, such as text with a NUL in it.
        package static let encoding = Code(.encoding)
        /// A transaction begun inside another, or ended behind its scope's back.
        static let transactionState = Code(.transactionState)
        /// COMMIT rolled back, since a statement had failed and its error was not passed on.
        static let transactionRolledBack = Code(.transactionRolledBack)
        /// No connection came free before the deadline.
        package static let poolExhausted = Code(.poolExhausted)
        /// The pool is closed.
        static let poolClosed = Code(.poolClosed)
        /// The connection string is wrong, or a setting of the database that no session changes.
        package static let configuration = Code(.configuration)
        /// The server does not offer TLS on a connection that asks for it.
        package static let tlsRequired = Code(.tlsRequired)
        /// What was asked for cannot work behind a transaction pooler.
        static let notBehindPooler = Code(.notBehindPooler)
        /// The statement is of another kind than the call expects, such as a COPY in a query.
        package static let unexpectedResult = Code(.unexpectedResult)
        /// The system has no thread, descriptor or memory left.
        static let resources = Code(.resources)
    }

    private final class Facts: Sendable {
        let diagnostics: Diagnostics?
        let statement: String?
        let reason: String?
        let lacksPassword: Bool

        init(_ diagnostics: Diagnostics?, _ statement: String?, _ reason: String?, lacksPassword: Bool) {
            self.diagnostics = diagnostics
            self.statement = statement
            self.reason = reason
            self.lacksPassword = lacksPassword
        }
    }

    /// What kind of thing went wrong.
    package let code: Code

    /// Whether the connection can go on.
    package let connectionUsable: Bool

    /// Whether the server's answer came: false where the connection was lost or dropped before it, so that nobody knows
    /// what happened.
    ///
    /// After `decoding`, `unexpectedColumns` and `unexpectedRowCount` it is true although the statement took effect.
    package let outcomeKnown: Bool

    private let facts: Facts

    init(
        _ code: Code,
        diagnostics: Diagnostics? = nil,
        statement: String? = nil,
        reason: String? = nil,
        lacksPassword: Bool = false,
        connectionUsable: Bool = true,
        outcomeKnown: Bool = true
    ) {
        self.code = code
        self.connectionUsable = connectionUsable
        self.outcomeKnown = outcomeKnown
        facts = Facts(diagnostics, statement, reason, lacksPassword: lacksPassword)
    }

    /// All fields that the server sent.
    package var diagnostics: Diagnostics? { facts.diagnostics }

    /// The text of the statement, without the values of its parameters.
    package var statement: String? { facts.statement }

    /// More about it in words, safe to log.
    package var reason: String? { facts.reason }

    /// Whether there is no connection since the server asks for a password and none was given.
    ///
    /// libpq notices it by itself: there is no SQLSTATE.
    package var lacksPassword: Bool { facts.lacksPassword }

    /// The server's name for the error, when it sent one.
    package var sqlState: SQLState? { diagnostics?.sqlState.map { SQLState(rawValue: $0) } }

    /// Whether trying again later may succeed; never true of a commit in doubt.
    package var isTransient: Bool {
        if let sqlState, code == .server || code == .connectionFailed || code == .connectionLost {
            return sqlState.isTransient || tellsOfBusyPooler
        }
        if lacksPassword { return false }
        switch code {
        case .connectionFailed, .connectionLost, .deadlineExceeded, .abandoned, .poolExhausted: return true
        default: return false
        }
    }

    /// Whether Supavisor has no place left, or does not reach its database, as while that restarts: it tells both by the
    /// state of an internal error, XX000.
    ///
    /// Its other errors of that state, such as an unknown tenant, stay. The words are those of its versions 1 and 2
    /// (`lib/supavisor/errors`).
    private var tellsOfBusyPooler: Bool {
        guard sqlState?.rawValue == "XX000", code == .connectionFailed || code == .connectionLost,
            let message = diagnostics?.message
        else { return false }
        // That of a connection that was refused has libpq's own words before it.
        return [
            "(EMAX", "(ECHECKOUTTIMEOUT)", "MaxClientsInSessionMode", "Max client connections reached",
            "(EDBHANDLEREXITED)", "(ECIRCUITBREAKER)", "(EAUTHQUERY) authentication query failed",
            "(EAUTHQUERY) auth_query connection failed",
        ].contains { message.contains($0) }
    }

    /// This error of a connection that was lost, told as one of its COMMIT.
    ///
    /// It is in doubt whether it happened, save where the server had ended the transaction for its client's silence: it
    /// looks for that once more before it begins what came last (`PostgresMain`), and has rolled back.
    func ofCommit() -> PostgresError {
        let isKnown = sqlState == .idleInTransactionSessionTimeout
        return PostgresError(
            isKnown ? .connectionLost : .commitInDoubt,
            diagnostics: diagnostics,
            statement: statement,
            reason: reason,
            connectionUsable: false,
            outcomeKnown: isKnown
        )
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String {
        var text = "Postgres error \(code)"
        if let sqlState { text += " \(sqlState)" }
        if let reason { text += ": \(reason)" }
        let names: [(String, String?)] = [
            ("constraint", diagnostics?.constraint), ("table", diagnostics?.table), ("column", diagnostics?.column),
        ]
        for case (let kind, let name?) in names { text += ", \(kind) \(name)" }
        return text
    }

    package var debugDescription: String {
        var text = description
        if let statement { text += "\n  statement: \(statement)" }
        guard let diagnostics else { return text }
        let fields: [(String, String?)] = [
            (diagnostics.severity ?? "message", diagnostics.message), ("detail", diagnostics.detail),
            ("hint", diagnostics.hint), ("schema", diagnostics.schema), ("data type", diagnostics.dataType),
            ("position", diagnostics.statementPosition.map(String.init)), ("context", diagnostics.context),
            ("internal query", diagnostics.internalQuery),
        ]
        for case (let name, let value?) in fields { text += "\n  \(name): \(value)" }
        return text
    }
}
