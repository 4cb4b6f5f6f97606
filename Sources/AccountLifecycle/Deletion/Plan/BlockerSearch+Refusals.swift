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

    /// The names of triggers, one of which refused, with their tables if there are several; nil if there are no triggers.
    private static func names(of triggers: [DeletionCatalog.Trigger]) -> String? {
        let isOfOne = triggers.allSatisfy { $0.table == triggers.first?.table }
        let names = triggers.map { isOfOne ? $0.name : "\($0.table).\($0.name)" }
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    /// Whether the database refuses the rows themselves: not a lost connection, a time limit or a transient error.
    static func isRefusal(_ error: PostgresError) -> Bool {
        error.sqlState != nil && !error.isTransient && error.connectionUsable && !error.tookTooLong
    }

    /// The triggers, one of which raised an error or ran the statement that failed; empty if the server names none.
    ///
    /// The error's context lists functions, innermost first, and the tables whose rows a cascade was deleting.
    private static func origin(
        of error: PostgresError,
        among triggers: [DeletionCatalog.Trigger]
    ) -> [DeletionCatalog.Trigger] {
        guard let lines = error.diagnostics?.context else { return [] }
        // A name stands between blanks, and may hold some.
        let context = String(lines.map { $0.isNewline ? " " : $0 }) + " "
        let named = triggers.map { trigger in
            trigger.functionNames.compactMap { context.firstRange(of: " \($0) ")?.lowerBound }.min()
        }
        guard let innermost = named.compactMap(\.self).min() else { return [] }
        let running = zip(triggers, named).filter { $1 == innermost }.map { $0.0 }
        let places = running.map { context[innermost...].firstRange(of: $0.table.quoted.text)?.lowerBound }
        guard let nearest = places.compactMap(\.self).min() else { return running }
        return zip(running, places).filter { $1 == nearest }.map { $0.0 }
    }

    /// The blocker for a trigger that raised an error, or whose own statement failed.
    private static func blocker(
        of triggers: [DeletionCatalog.Trigger],
        for error: PostgresError,
        _ moment: String = ""
    ) -> Blocker? {
        guard let table = triggers.first?.table, let detail = error.stateAndConstraint else { return nil }
        return Blocker(
            table: table.description,
            name: names(of: triggers),
            rows: nil,
            code: .refusingTrigger,
            detail: detail + moment
        )
    }

    /// The blocker for a trigger on accounts that refuses the ban; nil if something else does.
    static func blocker(ofBan error: PostgresError, among plan: DeletionPlan) -> Blocker? {
        blocker(of: origin(of: error, among: plan.triggersOfBan), for: error, ", when the account is banned")
    }

    /// The blocker for a refusal by the database.
    ///
    /// - Throws: `error` itself if it says nothing about the account, such as a lost connection or a time limit.
    static func blocker(for error: PostgresError, among plan: DeletionPlan) throws -> Blocker {
        guard isRefusal(error), let state = error.sqlState else { throw error }
        let table = Self.table(of: error, among: plan)
        if table == TableName.holds.description { return .hold }
        if let trigger = Self.blocker(of: Self.origin(of: error, among: plan.triggers), for: error) { return trigger }
        switch state {
        case .foreignKeyViolation, .restrictViolation, .notNullViolation:
            let name = error.diagnostics?.constraint ?? error.diagnostics?.column
            return Blocker(table: table, name: name, rows: nil, code: .blockingRows)
        case .checkViolation where error.diagnostics?.constraint == nil && !table.isEmpty:
            let detail = "its partitions do not take the rows without the account"
            return Blocker(table: table, name: nil, rows: nil, code: .blockingRows, detail: detail)
        case _ where state.class == .integrityConstraintViolation && error.diagnostics?.constraint != nil:
            let detail = "a constraint that the rows would violate without the account"
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
            // The server does not say which trigger it was: it names functions of some languages only. Where a rule
            // replaces what a key does, it says that as an internal error.
            let rules = state == .internalError ? plan.triggers.filter(\.isRule) : []
            let triggers = (rules.isEmpty ? plan.triggers : rules)
                .filter { table.isEmpty || $0.table.description == table }
            return Blocker(
                table: table.isEmpty ? triggers.first?.table.description ?? TableName.users.description : table,
                name: error.diagnostics?.constraint ?? names(of: triggers),
                rows: nil,
                code: .refusingTrigger,
                detail: "SQLSTATE \(state)"
            )
        }
    }

    /// The table that a refusal is about; empty if the server names none.
    ///
    /// If a domain refuses the value, the server names only the domain; the context has the statement by which a key
    /// changes the table, innermost first.
    private static func table(of error: PostgresError, among plan: DeletionPlan) -> String {
        guard error.diagnostics?.dataType != nil, let context = error.diagnostics?.context else {
            return error.namedTable
        }
        let found = plan.touched.compactMap { table in
            context.firstRange(of: table.quoted.text).map { (table: table, place: $0.lowerBound) }
        }
        return found.min { $0.place < $1.place }?.table.description ?? ""
    }
}
