import Postgres

extension PostgresError: ReportableError {
    var report: ErrorReport {
        let message = diagnostics?.message
        switch code {
        case .connectionFailed, .connectionLost:
            return ErrorReport(
                sqlState.map(Self.isRefusal) == true ? .notAuthorised : .temporary,
                "cannot reach the database: \(message ?? reason ?? description)",
                hint: "It is named by --database-url, the setting database.url or the PG* variables."
            )
        case .commitInDoubt:
            return ErrorReport(
                .temporary,
                "the connection broke during the commit: look whether the change is there before repeating it"
            )
        case .configuration, .tlsRequired:
            return ErrorReport(.usage, "the connection string is not right: \(reason ?? description)")
        case .server:
            if sqlState.map(Self.isRefusal) == true {
                return ErrorReport(
                    .notAuthorised,
                    message ?? description,
                    hint: diagnostics?.hint ?? "The commands need the rights of postgres: see accountctl doctor."
                )
            }
            if sqlState == .readOnlyTransaction {
                return ErrorReport(.temporary, "the database takes no writes: it is a standby or in read-only mode")
            }
            if sqlState == SQLState(rawValue: "42P01") || sqlState == .invalidSchemaName {
                return ErrorReport(
                    .failure,
                    message ?? description,
                    hint:
                        "Has the schema been installed? accountctl migrate status tells, accountctl migrate up installs it."
                )
            }
            return ErrorReport(isTransient ? .temporary : .failure, message ?? description, hint: diagnostics?.hint)
        default:
            return ErrorReport(isTransient ? .temporary : .failure, description)
        }
    }

    /// Wrong password or role, or a right that is missing.
    private static func isRefusal(_ state: SQLState) -> Bool {
        state.class == SQLState.Class(rawValue: "28") || state == SQLState(rawValue: "42501")
    }
}
