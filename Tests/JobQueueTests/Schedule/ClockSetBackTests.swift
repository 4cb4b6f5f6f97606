import Postgres
import Testing

@testable import JobQueue

/// The server's clock was set back by an hour: no job that a worker held waits until it has caught up.
@Suite(.timeLimit(.minutes(5))) struct ClockSetBackTests {
    /// Makes the workers look as if they had sent their last heartbeat before the clock was set back.
    private func setBack(_ harness: JobHarness) async throws {
        try await harness.execute(
            """
            update accountctl.workers
            set beat_at = beat_at + interval '1 hour', expires_at = expires_at + interval '1 hour'
            """
        )
    }

    /// A worker that died keeps its jobs for one more lease only.
    @Test func aDeadWorkersJobsAreTaken() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let dead = try await harness.host(lifetime: .seconds(1))
            #expect(try await harness.claim(dead).count == 1)
            try await setBack(harness)
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(4) }) {
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// One that is alive still has all of its lease.
    @Test func aLiveWorkerKeepsItsJobs() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let worker = try await harness.host(lifetime: .seconds(600))
            #expect(try await harness.claim(worker).count == 1)
            try await setBack(harness)
            try await harness.pool.withConnection { try harness.queue.renewBeatsAhead(on: $0) }
            #expect(try await harness.rescue() == 0)
            let left = try await harness.count(
                "select extract(epoch from expires_at - clock_timestamp())::bigint from accountctl.workers"
            )
            #expect((500...600).contains(left))
        }
    }
}
