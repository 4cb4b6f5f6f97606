package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Columns in which deletions may leave identifiers.
extension DeletionDesk {
    /// Declares that a column (`schema.table.column`) may keep identifiers of erased accounts.
    ///
    /// - Returns: How many requests are woken because of it; nil if the column was already accepted for that reason.
    package func accept(_ column: String, reason: String, on connection: isolated Connection) async throws -> Int? {
        try await connection.atomically { connection in
            let accepted = try connection.execute(
                """
                insert into accountctl.accepted_columns (column_name, reason, accepted_by)
                values (\(column), \(reason), \(operatorName))
                on conflict (column_name) do update
                set reason = excluded.reason, accepted_by = excluded.accepted_by, accepted_at = clock_timestamp()
                where accepted_columns.reason <> excluded.reason
                """
            )
            guard accepted > 0 else { return nil }
            try actor.log("deletion.accept", on: nil, reason: reason, facts: ["column": column], connection)
            let waiting = try connection.query(
                "select id from accountctl.deletion_requests where finished_at is null and state = 'residue'",
                as: UUID.self
            )
            try DeletionJobs.wake(waiting, on: connection)
            return waiting.count
        }
    }

    /// Revokes that a column may keep identifiers: requests that have not ended report them again.
    ///
    /// - Returns: Whether the column was accepted.
    package func withdraw(_ column: String, reason: String, on connection: isolated Connection) async throws -> Bool {
        try await connection.atomically { connection in
            let withdrawn = try connection.execute(
                "delete from accountctl.accepted_columns where column_name = \(column)"
            )
            guard withdrawn > 0 else { return false }
            try actor.log("deletion.withdraw", on: nil, reason: reason, facts: ["column": column], connection)
            return true
        }
    }
}
