import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Real processes, killed at chosen points instead of at random.
@Suite(.timeLimit(.minutes(5))) struct KillPointTests {
    struct Arguments: Codable, Sendable {
        var milliseconds = 0
    }

    struct Point: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: String
        /// The table that another session locks, so that the process gets no further.
        let table: String
        /// The beginning of the statement that waits for the lock.
        let statement: String
        /// The note in the rows of the effect, and how many such rows there are in the end.
        let note: String
        let effects: Int

        static let all = [
            Point(
                testDescription: "before the effect",
                kind: "test.exact",
                table: "public.effects",
                statement: "insert into public.effects",
                note: "exact",
                effects: 1
            ),
            Point(
                testDescription: "after the effect, before the end that is one with it",
                kind: "test.exact",
                table: "accountctl.job_history",
                statement: "with ended",
                note: "exact",
                effects: 1
            ),
            // Such effects happen at least once: the effect is written, but its job has not ended.
            Point(
                testDescription: "after the effect, before the outcome",
                kind: "test.steps",
                table: "accountctl.job_history",
                statement: "with ended",
                note: "end",
                effects: 2
            ),
        ]
    }

    @Test(arguments: Point.all) func aKillIsCountedAndTheJobRunsAgain(_ point: Point) async throws {
        try await JobHarness.with { harness in
            let job = try JobKind<Arguments>(point.kind).job(Arguments())
            let id = try await harness.enqueue([job])[0].id
            let waiting: Statement = """
                from pg_stat_activity
                where datname = current_database()
                and wait_event_type = 'Lock'
                and ltrim(query) like \(point.statement + "%")
                """
            let killed = try await harness.pool.withTransaction { connection in
                // This lock lets reads through.
                try connection.execute("lock table \(unsafeSQL: point.table) in share mode")
                let process = try WorkerProcess(harness, lease: 60_000)
                try await harness.until { try await harness.count("select count(*) \(waiting)") == 1 }
                process.kill(SIGKILL)
                _ = try await process.ended()
                // Left alone, the server would end the session only later, or carry out the dead process's statement.
                try await harness.execute("select pg_terminate_backend(pid) \(waiting)")
                try await harness.until { try await harness.count("select count(*) \(waiting)") == 0 }
                return process
            }
            // For a quarter of its lease this worker takes no other for lost.
            let other = try WorkerProcess(harness, lease: 20_000)
            try await harness.until {
                // Expires the killed worker's lease, repeatedly: a statement that it sent last may still arrive after
                // the first time.
                try await harness.execute(
                    """
                    update accountctl.workers
                    set expires_at = now() - interval '1 second'
                    where name = \("test-\(killed.pid)")
                    and stopped_at is null
                    """
                )
                return try await harness.unfinished() == 0
            }
            let record = try #require(try await harness.show(id)?.record)
            #expect(record.state == .completed)
            #expect(record.crashes == 1)
            #expect(record.attempt == 1)
            let effects: Statement = "select count(*) from public.effects where note = \(point.note)"
            #expect(try await harness.count(effects) == point.effects)
            other.kill(SIGKILL)
        }
    }
}
