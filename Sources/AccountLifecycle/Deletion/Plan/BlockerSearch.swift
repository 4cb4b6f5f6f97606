import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Looks for what would stop the delete of one account.
package struct BlockerSearch: Sendable {
    /// Rows are counted up to here; beyond it the number says "at least".
    package static let countLimit = 1000

    private let plan: DeletionPlan
    private let user: UUID

    init(_ plan: DeletionPlan, user: UUID) {
        self.plan = plan
        self.user = user
    }

    /// Finds blockers without changing anything: missing rights, keys that are not in effect, rows behind keys that do
    /// not cascade.
    ///
    /// Each statement has `deadline`.
    func run(
        maximumRows: Int,
        deadline: Duration = AccountRows.deadline,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        // With rights missing, the results of the other checks could not be trusted.
        guard plan.faults.isEmpty else { return plan.faults.map(\.blocker) }
        return try plan.idle.map(Blocker.idle)
            + refusingRows(deadline, on: connection)
            + tooManyRows(maximumRows, deadline, on: connection)
    }

    /// The result of a trial.
    enum Answer: Sendable, Hashable {
        /// Nothing refuses, or there was nothing to try.
        case pass
        case refusal(Blocker)
        /// These questions have no answer, since the delete was not tried or took too long: only the delete itself will
        /// tell.
        case unknown([DeletionPlan.Question])
    }

    /// Tries whether triggers on the way refuse the delete, which only they know, and whatever else only a delete
    /// reveals.
    ///
    /// The delete is done and rolled back, so call this when nothing else is in the way. If a trigger may have effects
    /// that no rollback undoes, nothing is tried. Each statement has `deadline`, or the usual one.
    ///
    /// - Throws: ``PlanOvertaken``; ``PostgresError``, unless it is the refusal.
    func askTriggers(deadline: Duration? = nil, on connection: isolated Connection) async throws -> Answer {
        guard !plan.questions.isEmpty else { return .pass }
        guard plan.reachingOutside.isEmpty else { return .unknown(plan.questions) }
        do {
            return try await trial(deadline, on: connection).map(Answer.refusal) ?? .pass
        } catch let error as PostgresError where error.tookTooLong {
            return .unknown(plan.questions)
        }
    }

    /// Rows that refer to deleted rows by a key that refuses their delete.
    private func refusingRows(_ deadline: Duration, on connection: isolated Connection) throws -> [Blocker] {
        guard !plan.refusing.isEmpty else { return [] }
        let counts = plan.refusing.indices.map { index -> Statement in
            let key = plan.refusing[index]
            // Rows that are themselves deleted in another way are gone by then.
            let others: Statement =
                if plan.parts.contains(where: { $0.table == key.table }) {
                    " and not coalesce(\(plan.condition(forRowsGoingWith: key, user: user)), false)"
                } else {
                    ""
                }
            return """
                select \(unsafeSQL: String(index)) as key, (
                    select count(*)
                    from (
                        select
                        from \(key.rows)
                        where \(plan.rows(referringBy: key, user: user))\(others)
                        limit \(unsafeSQL: String(Self.countLimit))
                    ) as found
                ) as rows
                """
        }
        let all = counts.dropFirst().reduce(counts[0]) { $0 + " union all " + $1 }
        return try connection.query(
            "select key, rows from (\(all)) as counts where rows > 0",
            as: (Int32, Int64).self,
            deadline: deadline
        ).map { index, rows in
            let key = plan.refusing[Int(index)]
            return Blocker(
                table: key.table.description,
                name: key.name,
                rows: Int(rows),
                code: .blockingRows,
                detail: key.rule == .setNull ? "ON DELETE SET NULL on a column that refuses NULL" : nil
            )
        }
    }

    /// Tables that would lose more rows than a run may delete.
    private func tooManyRows(
        _ maximum: Int,
        _ deadline: Duration,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        try plan.parts.compactMap { part in
            try Blocker.tooMany(
                plan.goingRows(of: part, user: user),
                of: part.table,
                reachedBy: part.reachedBy,
                maximum: maximum,
                deadline: deadline,
                on: connection
            )
        }
    }

    /// Ends the sessions and deletes, as the lock-out and the delete do one after the other, and rolls back.
    private func trial(_ deadline: Duration?, on connection: isolated Connection) async throws -> Blocker? {
        struct RollBack: Error {}
        do {
            try await connection.atomically { connection in
                try connection.requireTriggers()
                try connection.execute(AccountSessions.endingSessions(of: user), deadline: deadline)
                // The lock-out has a commit of its own, at which deferred constraints are checked; afterwards they are
                // deferred again.
                do {
                    try await connection.savepoint { connection in
                        try connection.execute("set constraints all immediate", deadline: deadline)
                        throw RollBack()
                    }
                } catch is RollBack {}
                try AccountRows.delete(user, by: plan, deadline: deadline, on: connection)
                // Check deferred constraints now, since the commit never comes.
                try connection.execute("set constraints all immediate", deadline: deadline)
                throw RollBack()
            }
            return nil
        } catch is RollBack {
            return nil
        } catch let error as DeleteSwallowed {
            return Self.blocker(for: error, among: plan)
        } catch let error as PostgresError {
            return try Self.blocker(for: error, among: plan)
        }
    }
}
