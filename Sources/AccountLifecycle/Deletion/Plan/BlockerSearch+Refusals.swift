import Postgres

/// What a refusal that a tried delete met says about the account.
extension BlockerSearch {
    /// The blocker of a delete that a trigger kept from happening without an error.
    static func blocker(for kept: DeleteSwallowed, among plan: DeletionPlan) -> Blocker {
        Blocker(
            table: kept.table.description,
            name: names(of: plan.triggers.filter { $0.mayKeepRows && $0.table == kept.table }),
            rows: kept.rows,
            code: .refusingTrigger,
            detail: "the delete leaves them as they are"
        )
    }

    /// The names of triggers one of which refused; nil where there is none.
    private static func names(of triggers: [DeletionCatalog.Trigger]) -> String? {
        triggers.isEmpty ? nil : triggers.map(\.name).joined(separator: ", ")
    }

    /// Whether the database refuses rows: neither a lost connection, nor a limit of time, nor what passes by itself.
    static func isRefusal(_ error: PostgresError) -> Bool {
        error.sqlState != nil && !error.isTransient && error.connectionUsable && !error.tookTooLong
    }

    /// A refusal of the database as a blocker.
    ///
    /// - Throws: the error itself where it says nothing about the account, such as a lost connection or a limit of
    ///   time.
    static func blocker(for error: PostgresError, among plan: DeletionPlan) throws -> Blocker {
        guard isRefusal(error), let state = error.sqlState else { throw error }
        let table = [error.diagnostics?.schema, error.diagnostics?.table].compactMap(\.self).joined(separator: ".")
        switch state {
        case _ where table == TableName.holds.description: return .hold
        case .foreignKeyViolation, .notNullViolation:
            return Blocker(table: table, name: error.diagnostics?.constraint, rows: nil, code: .blockingRows)
        case _ where state.class == .integrityConstraintViolation && error.diagnostics?.constraint != nil:
            let detail = "a constraint that rows without their account do not meet"
            return Blocker(
                table: table,
                name: error.diagnostics?.constraint,
                rows: nil,
                code: .blockingRows,
                detail: detail
            )
        case .insufficientPrivilege where plan.triggers.isEmpty:
            return Blocker(table: table, name: nil, rows: nil, code: .missingRight)
        case .objectNotInPrerequisiteState where !plan.unidentified.isEmpty,
            .invalidColumnReference where !plan.unidentified.isEmpty:
            // The server names the table in its message alone.
            let tables = plan.unidentified.map(\.description).joined(separator: ", ")
            return Blocker(table: tables, name: nil, rows: nil, code: .unpublishable)
        default:
            // Which trigger it was, the server does not say.
            let triggers = plan.triggers.filter { table.isEmpty || $0.table.description == table }
            return Blocker(
                table: table.isEmpty ? triggers.first?.table.description ?? TableName.users.description : table,
                name: error.diagnostics?.constraint ?? names(of: triggers),
                rows: nil,
                code: .refusingTrigger,
                detail: "SQLSTATE \(state)"
            )
        }
    }
}
