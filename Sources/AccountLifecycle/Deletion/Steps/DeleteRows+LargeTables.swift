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

    /// Deletes rows of tables that hold many rows of the account, one batch per transaction; tables from which our role
    /// may not delete are left to the cascade, which runs as the table's owner.
    ///
    /// A connection is held for one batch only: an account may have millions of rows, and others need a connection for
    /// a moment. A batch that takes longer than it may is followed by smaller ones. If the database refuses a batch,
    /// the rest of that table is left for later: rows that refer to its rows may be deletable only together with them,
    /// and the transaction that deletes both reports it if they are not.
    func emptyLargeTables(of plan: DeletionPlan) async throws {
        let batch = services.policy.batchRows
        let large = plan.parts
            .filter { part in part.isDeletable && part.reachedBy.contains { $0.estimatedRows > batch } }
            .filter { !Self.goesWithTheAccount($0.table) }
            .sorted { $0.depth > $1.depth }
        for part in large {
            let going = plan.rowsGoingBeforehand(of: part, user: user)
            var size = batch
            var deleted = size
            while deleted * going.conditions.count >= size {
                try Task.checkCancellation()
                do {
                    deleted = try await deleteBatch(going.deleting(upTo: size), of: part.table, by: plan)
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
                try journal.fence(connection, lockTimeout: .seconds(5), deadline: deadline)
                try lockAndLookAgain(.deleteRows, on: connection)
                try plan.requireKeys(to: [table], on: connection)
                let rows = try connection.execute(deleting, deadline: deadline)
                if rows > 0 { try journal.add(["batched_rows": rows], to: .deleteRows, on: connection) }
                return rows
            }
        }
    }
}
