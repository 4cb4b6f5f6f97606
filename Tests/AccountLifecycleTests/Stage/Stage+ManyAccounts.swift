import Postgres
import TestSupport

extension Stage {
    /// Runs `body` while the accounts, or what is held about them in another table, are locked for longer than a short
    /// statement of its pool may take, as if reading very many rows took that long.
    func withVeryManyAccounts<Result: Sendable>(
        in table: Statement = "auth.users",
        _ body: @escaping @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        var own = PoolConfiguration(connection: database.configuration)
        own.connection.statementDeadline = .seconds(1)
        own.connection.sessionSettings = ["jit": "off"]
        return try await Pool.withPool(own, logger: .silent) { pool in
            let asking = try await admin.withTransaction { connection in
                try connection.execute("lock table \(table)")
                let asking = Task { try await body(pool) }
                try await eventually("it takes longer than a short statement may", within: .seconds(60)) {
                    try await count(
                        """
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock'
                          and clock_timestamp() - query_start > '1.5 seconds'
                        """
                    ) > 0
                }
                return asking
            }
            return try await asking.value
        }
    }
}
