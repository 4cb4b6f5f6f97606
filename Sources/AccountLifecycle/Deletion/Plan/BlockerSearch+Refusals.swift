import Postgres

/// Blockers for a refusal that a tried delete met.
extension BlockerSearch {
    /// The blocker for a delete that a trigger prevented without an error.
    static func blocker(for kept: DeleteSwallowed, among plan: DeletionPlan) -> Blocker {
        Blocker(
            table: kept.table.description,
            name: names(of: plan.triggers.filter { $0.mayKeepRows && $0.table == kept.table }),
            rows: kept.rows,
            code: .refusingTrigger,
            detail: "the delete leaves them as they are"
        )
    }

    /// The names of triggers, one of which refused; nil if there are none.
    private static func names(of triggers: [DeletionCatalog.Trigger]) -> String? {
        triggers.isEmpty ? nil : triggers.map(\.name).joined(separator: ", ")
    }

    /// Whether the database refuses the rows themselves: not a lost connection, a time limit or a transient error.
    static func isRefusal(_ error: PostgresError) -> Bool {
        error.sqlState != nil && !error.isTransient && error.connectionUsable && !error.tookTooLong
    }

    /// The blocker for a refusal by the database.
    ///
    /// - Throws: `error` itself if it says nothing about the account, such as a lost connection or a time limit.
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
            // The server names the table only in its message.
            let tables = plan.unidentified.map(\.description).joined(separator: ", ")
            return Blocker(table: tables, name: nil, rows: nil, code: .unpublishable)
        default:
            // The server does not say which trigger it was.
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
