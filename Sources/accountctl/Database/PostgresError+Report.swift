import Postgres

extension PostgresError: ReportableError {
    var report: CommandError {
        let message = diagnostics?.message
        switch code {
        case .connectionFailed: return refusedConnection
        case .connectionLost:
            return CommandError(.temporary, "the connection to the database broke: \(message ?? reason ?? description)")
        case .commitInDoubt:
            return CommandError(
                .temporary,
                "the connection broke during the commit: check whether the change was made before you repeat it",
                hint: "Operators' actions are logged in the same transaction: accountctl audit list shows it if it was "
                    + "made."
            )
        case .configuration:
            return CommandError(.usage, "the database connection is misconfigured: \(reason ?? description)")
        case .tlsRequired:
            return CommandError(
                .usage,
                "the server does not accept TLS: \(reason ?? description)",
                hint: "Turn on TLS there, or use sslmode=disable if nobody else is on that network."
            )
        case .server:
            if sqlState.map(Self.isRefusal) == true {
                return CommandError(
                    .notAuthorised,
                    message ?? description,
                    hint: diagnostics?.hint ?? "The commands need the rights of postgres: see accountctl doctor."
                )
            }
            if sqlState == .readOnlyTransaction {
                return CommandError(
                    .temporary,
                    "the database accepts no writes: it is a standby or in read-only mode",
                    hint: Self.readOnlyHint
                )
            }
            if sqlState == .lockNotAvailable {
                return CommandError(
                    .temporary,
                    "another session holds a lock that this needs; try again",
                    hint: "While a command waits, pg_blocking_pids and pg_stat_activity show which session that is."
                )
            }
            if sqlState == .queryCanceled {
                let isByRequest = message == Self.cancelledByRequest
                return CommandError(.temporary, message ?? description, hint: isByRequest ? nil : Self.serverLimitHint)
            }
            if sqlState == SQLState(rawValue: "42P01") || sqlState == .invalidSchemaName {
                return CommandError(
                    .failure,
                    message ?? description,
                    hint:
                        "Has the schema been installed? accountctl migrate status shows it, accountctl migrate up "
                        + "installs it."
                )
            }
            return CommandError(isTransient ? .temporary : .failure, message ?? description, hint: diagnostics?.hint)
        default:
            return CommandError(isTransient ? .temporary : .failure, description)
        }
    }

    /// Why a database that is not a standby may refuse writes.
    static let readOnlyHint = "On Supabase a full disk does that; see default_transaction_read_only."

    /// What a server says of a statement that somebody cancelled.
    ///
    /// Nothing else tells it from a time limit; a server that translates its messages is taken to mean the latter.
    private static let cancelledByRequest = "canceling statement due to user request"

    /// Why a statement may be cancelled before our own limit.
    private static let serverLimitHint =
        "Behind a transaction pooler the role's own statement_timeout takes precedence over "
        + "database.statement_timeout: raise it, or use the direct or the session port, 5432."

    /// The report of a failed connection: the server is unreachable, or refuses the role or the connection.
    private var refusedConnection: CommandError {
        if lacksPassword {
            return CommandError(
                .notAuthorised,
                "the database refuses the login: it asks for a password, but none was given",
                hint: Self.roleHint
            )
        }
        guard let state = sqlState, let message = diagnostics?.message else {
            let said = reason ?? description
            return CommandError(
                .temporary,
                "cannot reach the database: \(said)",
                hint: Self.directHint(said) ?? SupabaseDatabase.hint
            )
        }
        if Self.isRefusal(state) {
            return CommandError(
                .notAuthorised,
                "the database refuses the login: \(message)",
                hint: Self.roleHint
            )
        }
        if state == .invalidCatalogName {
            return CommandError(.usage, "the connection string is not valid: \(message)", hint: SupabaseDatabase.hint)
        }
        return isTransient
            ? CommandError(.temporary, "the database accepts no connections at present: \(message)")
            : CommandError(.failure, "the database refuses the connection: \(message)", hint: SupabaseDatabase.hint)
    }

    /// The hint for the direct host of a hosted project, which is often unreachable; nil if the message names no such
    /// host.
    private static func directHint(_ said: String) -> String? {
        let words = said.split { $0 == "\"" || $0 == " " }
        guard words.contains(where: { $0.hasPrefix("db.") && $0.hasSuffix(".supabase.co") }) else { return nil }
        return "A project's own host has only IPv6, unless IPv4 was bought for it: without IPv6 use the session "
            + "pooler, port 5432, as the project's Connect shows it."
    }

    private static let roleHint =
        "The role comes from the connection string or PGUSER, its password from database.password_file, PGPASSWORD or "
        + "libpq's password file."

    /// Whether the server refused a password, a role or a missing privilege.
    private static func isRefusal(_ state: SQLState) -> Bool {
        state.class == SQLState.Class(rawValue: "28") || state == SQLState(rawValue: "42501")
    }
}
