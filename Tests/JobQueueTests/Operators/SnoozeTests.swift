import Postgres
import Testing

@testable import JobQueue

/// Postponing jobs.
@Suite(.timeLimit(.minutes(5))) struct SnoozeTests {
    /// Of several jobs, those that run stay as they are.
    @Test func thoseOfSeveralThatWaitArePostponed() async throws {
        try await JobHarness.with { harness in
            let (_, running) = try await harness.claimed()
            let waiting = try await harness.enqueue(try (0..<3).map { _ in try JobHarness.plain.job(Note()) }).map(\.id)
            let moved = try await harness.pool.withConnection { connection in
                try harness.queue.snooze([waiting[0], waiting[1], running.id], for: .seconds(3600), on: connection)
            }
            #expect(moved == 2)
            let later: Statement = """
                select count(*)
                from accountctl.jobs
                where state = 'scheduled'
                and run_at between now() + interval '50 minutes' and now() + interval '1 hour'
                """
            #expect(try await harness.count(later) == 2)
            #expect(try await harness.show(running.id)?.record.state == .running)
            #expect(try await harness.show(waiting[2])?.record.state == .available)
        }
    }
}
