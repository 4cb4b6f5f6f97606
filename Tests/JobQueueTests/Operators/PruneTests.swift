import Postgres
import Testing

@testable import JobQueue

/// Dropping days of history by an operator's command.
@Suite(.timeLimit(.minutes(5))) struct PruneTests {
    /// Dropping all days in one transaction would make every job that ends wait, and years of days would fill the
    /// server's lock table.
    @Test func daysAreDroppedInPieces() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let (first, most) = ("2020-01-01", JobQueue.prunedAtOnce)
            try await harness.execute("select accountctl.prepare_job_history(\(first)::date, \(most + 3)::integer)")
            let prune = { @Sendable in
                try await harness.pool.withConnection { connection in
                    let days = try queue.oldDays(olderThan: .seconds(86_400), on: connection)
                    return await queue.prune(days, on: connection)
                }
            }
            let left: Statement = "select count(*) from pg_class where relname ~ '^job_history_2020[0-9]{4}$'"
            try await harness.pool.withTransaction { reader in
                // This reader blocks the last day.
                let last = try reader.one(
                    "select to_char(\(first)::date + \(most + 2)::integer, 'YYYYMMDD')",
                    as: String.self
                )
                _ = try reader.one("select count(*) from accountctl.job_history_\(unsafeSQL: last)", as: Int.self)
                let (dropped, failure) = try await prune()
                #expect(dropped.count == most && dropped.first == "job_history_20200101")
                #expect(failure is PostgresError)
            }
            #expect(try await harness.count(left) == 3)
            let (rest, failure) = try await prune()
            #expect(rest.count == 3 && failure == nil)
            #expect(try await harness.count(left) == 0)
        }
    }
}
