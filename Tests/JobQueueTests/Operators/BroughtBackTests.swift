import Postgres
import Testing

@testable import JobQueue

/// Retrying ended jobs from the history, as an operator does.
@Suite(.timeLimit(.minutes(5))) struct BroughtBackTests {
    /// Somebody may have inserted a second end by hand, or restored a backup beside the table: the job comes back once,
    /// as it ended last.
    @Test func aJobThatEndedTwiceComesBackAsItEndedLast() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                insert into accountctl.job_history
                    (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args)
                select 7, lease, now(), now(), 'discarded'::accountctl.job_end, 5, 1, 0, 1, 'default', 'test.plain',
                    jsonb_build_object('text', lease)
                from unnest(array[2, 3, 1]) as lease
                """
            )
            let queue = try await harness.pool.withConnection { try harness.queue.retry(7, on: $0) }
            #expect(queue == "default")
            let lives: Statement = "select count(*) from accountctl.jobs where id = 7 and args ->> 'text' = '3'"
            #expect(try await harness.count(lives) == 1)
            #expect(try await harness.count("select count(*) from accountctl.job_history") == 0)
        }
    }
}
