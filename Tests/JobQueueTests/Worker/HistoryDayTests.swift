import Postgres
import TestSupport
import Testing

/// Making the days of the history while jobs end.
@Suite(.timeLimit(.minutes(5))) struct HistoryDayTests {
    /// Its row would lie in the way of the partition, and nothing would be made.
    @Test func aJobThatEndsWhileItsDayIsMadeGoesAlong() async throws {
        try await JobHarness.with { harness in
            let making = try await harness.pool.withTransaction { connection in
                try connection.execute(
                    """
                    insert into accountctl.job_history
                        (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind,
                        args, finished_at)
                    values (1, 1, now(), now(), 'completed', 5, 1, 0, 1, 'q', 'k', '{}', '2020-01-01 12:00 Z')
                    """
                )
                let making = Task {
                    try await harness.count("select accountctl.prepare_job_history('2020-01-01', 1)::bigint")
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return making
            }
            #expect(try await making.value == 1)
            #expect(try await harness.count("select count(*) from accountctl.job_history_20200101") == 1)
        }
    }
}
