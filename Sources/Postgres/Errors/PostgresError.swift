/// An error between this program and the database.
///
/// `description` is safe to log: it has codes and the names of schema objects, never the server's message or detail,
/// which quote values. `debugDescription` includes those too, but no parameters and no password.
package struct PostgresError: Error, Sendable {
    /// The kind of error.
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

        /// The server refused a statement; the SQLSTATE says why.
        package static let server = Code(.server)
        /// No connection could be made.
        package static let connectionFailed = Code(.connectionFailed)
        /// The connection broke; the running statement may or may not have taken effect, unless it was in a transaction
        /// that was not committed.
        package static let connectionLost = Code(.connectionLost)
        /// The connection is in the middle of a stream.
        package static let connectionBusy = Code(.connectionBusy)
        /// The connection broke during COMMIT: check the data before repeating the transaction.
        package static let commitInDoubt = Code(.commitInDoubt)
        /// The statement's deadline passed and the server cancelled it.
        package static let deadlineExceeded = Code(.deadlineExceeded)
        /// A cancelled statement did not end in time and the connection was dropped.
        package static let abandoned = Code(.abandoned)
        /// More or fewer rows than expected.
        package static let unexpectedRowCount = Code(.unexpectedRowCount)
        /// The statement returns a different number of columns than expected.
        package static let unexpectedColumns = Code(.unexpectedColumns)
        /// A value cannot be read as its Swift type.
        package static let decoding = Code(.decoding)
        /// A parameter cannot be sent, such as text with a NUL in it.
        package static let encoding = Code(.encoding)
        /// A transaction was begun inside another, or ended inside its own scope.
        static let transactionState = Code(.transactionState)
        /// COMMIT rolled back, because a statement had failed and its error was not passed on.
        static let transactionRolledBack = Code(.transactionRolledBack)
        /// No connection came free before the deadline.
        package static let poolExhausted = Code(.poolExhausted)
        /// The pool is closed.
        static let poolClosed = Code(.poolClosed)
        /// The connection string is invalid, or the database has an unsuitable setting that no session can change.
        package static let configuration = Code(.configuration)
        /// The server does not offer TLS on a connection that requires it.
        package static let tlsRequired = Code(.tlsRequired)
        /// The operation cannot work behind a transaction pooler.
        static let notBehindPooler = Code(.notBehindPooler)
        /// The statement is of a different kind than the call expects, such as a COPY in a query.
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

    /// The kind of error.
    package let code: Code

    /// Whether the connection can still be used.
    package let connectionUsable: Bool

    /// Whether the server's answer came: false if the connection was lost or dropped before it, so that the outcome is
    /// unknown.
    ///
    /// After `decoding`, `unexpectedColumns` and `unexpectedRowCount` it is true even though the statement took effect.
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

    /// The fields that the server sent.
    package var diagnostics: Diagnostics? { facts.diagnostics }

    /// The text of the statement, without the values of its parameters.
    package var statement: String? { facts.statement }

    /// More detail in words, safe to log.
    package var reason: String? { facts.reason }

    /// Whether connecting failed because the server asks for a password and none was given.
    ///
    /// libpq detects this itself: there is no SQLSTATE.
    package var lacksPassword: Bool { facts.lacksPassword }

    /// The SQLSTATE of the error, if the server sent one.
    package var sqlState: SQLState? { diagnostics?.sqlState.map { SQLState(rawValue: $0) } }

    /// Whether a later retry may succeed; never true of a commit in doubt.
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

    /// Whether Supavisor has no free slot or cannot reach its database, for example while that restarts: it reports
    /// both with the SQLSTATE of an internal error, XX000.
    ///
    /// Its other errors with that state, such as an unknown tenant, are permanent. The texts are those of its versions
    /// 1 and 2 (`lib/supavisor/errors`).
    private var tellsOfBusyPooler: Bool {
        guard sqlState == .internalError, code == .connectionFailed || code == .connectionLost,
            let message = diagnostics?.message
        else { return false }
        // For a refused connection, libpq's own text precedes the message.
        return [
            "(EMAX", "(ECHECKOUTTIMEOUT)", "MaxClientsInSessionMode", "Max client connections reached",
            "(EDBHANDLEREXITED)", "(ECIRCUITBREAKER)", "(EAUTHQUERY) authentication query failed",
            "(EAUTHQUERY) auth_query connection failed",
        ].contains { message.contains($0) }
    }

    /// This error of a lost connection, as an error of its COMMIT.
    ///
    /// The commit is in doubt, unless the server had ended the transaction because its client was idle: it checks for
    /// that once more before it starts the next command (`PostgresMain`), and has rolled back.
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
        if sqlState == .readOnlyTransaction { text += ": the database is a standby or in read-only mode" }
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
