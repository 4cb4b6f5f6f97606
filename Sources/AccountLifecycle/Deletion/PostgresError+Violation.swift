import Postgres

/// What the server says about a refusal, in names of the schema: never the values of rows, which its messages quote.
extension PostgresError {
    /// The SQLSTATE, and the constraint or column that the statement violated; nil without an SQLSTATE.
    var stateAndConstraint: String? {
        sqlState.map { state in
            let place = named(diagnostics?.table ?? diagnostics?.dataType).map { " of \($0)" } ?? ""
            let violated = (diagnostics?.constraint ?? diagnostics?.column).map { ": \($0)\(place)" }
            return "SQLSTATE \(state)" + (violated ?? "")
        }
    }

    /// The table that the server names, with its schema; empty if it names none, as when a domain refuses a value.
    var namedTable: String { named(diagnostics?.table) ?? "" }

    /// A table or domain that the server names, with its schema.
    private func named(_ name: String?) -> String? {
        name.map { [diagnostics?.schema, $0].compactMap(\.self).joined(separator: ".") }
    }
}
