import Postgres

/// What the server says about a refusal, in names of the schema: never the values of rows, which its messages quote.
extension PostgresError {
    /// The SQLSTATE, and the constraint or column that the statement violated; nil without an SQLSTATE.
    var stateAndConstraint: String? {
        sqlState.map { state in
            let violated = (diagnostics?.constraint ?? diagnostics?.column).map { ": \($0) of \(namedTable)" }
            return "SQLSTATE \(state)" + (violated ?? "")
        }
    }

    /// The table that the server names, with its schema; empty if it names none.
    var namedTable: String {
        [diagnostics?.schema, diagnostics?.table].compactMap(\.self).joined(separator: ".")
    }
}
