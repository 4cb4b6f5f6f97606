import Logging
import Postgres

/// Empties tables that hold many rows of the account, in batches.
extension DeletionRun {
    /// Whether rows of a table are checked under the lock under which the account is deleted, and so must not be
    /// deleted earlier; an account has few of them.
    ///
    /// Identities show whether a grant that came late is the account's own, sessions whether somebody signed in since
    /// the lock-out.
    private static func goesWithTheAccount(_ table: TableName) -> Bool {
        table.schema == "accountctl" || (table.schema == "auth" && ["identities", "sessions"].contains(table.name))
    }

    /// The tables that may lose the account's rows before the account is deleted, deepest first.
    ///
    /// Tables from which our role may not delete are left to the cascade, which runs as the table's owner.
    func tablesToEmpty(of plan: DeletionPlan) -> [DeletionPlan.Part] {
        plan.parts
            .filter { $0.isDeletable && !$0.reachedBy.isEmpty && !Self.goesWithTheAccount($0.table) }
            .sorted { $0.depth > $1.depth }
    }

    /// Those of the tables that are emptied in any case: those that hold many rows, whosever they are; and those that
    /// the server has never counted, if the account has many there.
    func largeTables(
        of plan: DeletionPlan,
        _ deadline: Duration,
        on connection: isolated Connection
    ) throws -> [DeletionPlan.Part] {
        let batch = services.policy.batchRows
        var large: [DeletionPlan.Part] = []
        for part in tablesToEmpty(of: plan) {
            guard let key = part.reachedBy.first, key.mayHold(moreThan: batch) else { continue }
            if key.estimatedRows <= batch {
                let rows = plan.rowsGoingBeforehand(of: part, user: user)
                guard try rows.count(upTo: batch + 1, deadline: deadline, on: connection) > batch else { continue }
            }
            large.append(part)
        }
        return large
    }

    /// Deletes the account's rows of some tables, one batch per transaction.
    ///
    /// A connection is held for one batch only: an account may have millions of rows, and others need a connection for
    /// a moment. A batch that takes longer than it may is followed by smaller ones. If the database refuses a batch,
    /// the rest of that table is left for later: rows that refer to its rows may be deletable only together with them,
    /// and the transaction that deletes both reports it if they are not.
    ///
    /// - Returns: How many rows were deleted.
    @discardableResult
    func empty(_ tables: [DeletionPlan.Part], by plan: DeletionPlan) async throws -> Int {
        var rows = 0
        for part in tables {
            let going = plan.rowsGoingBeforehand(of: part, user: user)
            var size = services.policy.batchRows
            var deleted = size
            while deleted * going.conditions.count >= size {
                try Task.checkCancellation()
                do {
                    deleted = try await deleteBatch(going.deleting(upTo: size), of: part.table, by: plan)
                    rows += deleted
                } catch let error as PostgresError where error.tookTooLong && size > 1 {
                    // For each row, the server reads the whole of every table that refers to it without an index.
                    size = max(1, size / 4)
                    deleted = size
                    continue
                } catch let error as PostgresError where BlockerSearch.isRefusal(error) {
                    services.logger(for: record.id).notice(
                        "the database refuses a batch: the rows of this table are to go with the account",
                        metadata: ["table": "\(part.table)", "error": "\(error)"]
                    )
                    break
                }
                try await services.probe(.between(.deleteRows))
            }
        }
        return rows
    }

    /// Deletes and counts one batch.
    ///
    /// - Throws: ``PostgresError``, also from constraints that are deferred to the end of the transaction;
    ///   ``PlanOvertaken``.
    private func deleteBatch(
        _ deleting: Statement,
        of table: TableName,
        by plan: DeletionPlan
    ) async throws -> Int {
        try await patiently(isSlow: !plan.reachingOutside.isEmpty) { deadline in
            try await services.pool.withTransaction { connection in
                try journal.fence(connection, deadline: deadline)
                try lockAndLookAgain(.deleteRows, on: connection)
                try plan.requireKeys(to: [table], on: connection)
                let rows = try connection.execute(deleting, deadline: deadline)
                if rows > 0 { try journal.add(["batched_rows": rows], to: .deleteRows, on: connection) }
                return rows
            }
        }
    }
}
