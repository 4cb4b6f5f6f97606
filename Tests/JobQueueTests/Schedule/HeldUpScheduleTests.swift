import Postgres
import Testing

@testable import JobQueue

/// A schedule whose job is blocked by another session, such as a transaction forgotten in a terminal.
@Suite(.timeLimit(.minutes(5))) struct HeldUpScheduleTests {
    private static let held = "held"

    /// Makes a worker with two schedules, both of which are due.
    private func worker(_ harness: JobHarness) async throws -> Worker {
        var registry = JobRegistry()
        try registry.register(JobHarness.plain) { _, _ in .completed() }
        for name in [Self.held, "other"] {
            try registry.schedule(PeriodicJob(name: name, schedule: "* * * * *", job: job(name)))
            // The first instant ever seen would only be recorded.
            try await harness.execute(
                "insert into accountctl.periodic_slots (name, slot) values (\(name), now() - interval '1 hour')"
            )
        }
        return try harness.worker(registry)
    }

    private func job(_ name: String) throws -> NewJob { try JobHarness.plain.job(Note(), uniqueKey: name) }

    /// The other schedules run all the same, and the blocked one does afterwards.
    @Test func keepsNoOtherFromItsTurn() async throws {
        try await JobHarness.with { harness in
            let worker = try await worker(harness)
            try await worker.begin()
            let zones = try await worker.readZones()
            let job = try job(Self.held)
            try await harness.pool.withTransaction { session in
                try harness.queue.enqueue([job], on: session)
                await #expect(throws: PostgresError.self) { try await worker.enqueuePeriodic(zones) }
                let others = try await harness.count(
                    "select count(*) from accountctl.jobs where unique_key = 'other'"
                )
                #expect(others == 1)
            }
            try await worker.enqueuePeriodic(zones)
            let turns = try await harness.count(
                "select count(*) from accountctl.periodic_slots where name = 'held' and job is not null"
            )
            #expect(turns == 1)
        }
    }

    /// A worker that cron starts does the rest of its work.
    @Test func keepsNoWorkerFromTheRest() async throws {
        try await JobHarness.with { harness in
            let worker = try await worker(harness)
            let job = try job(Self.held)
            let run = try await harness.pool.withTransaction { session in
                try harness.queue.enqueue([job], on: session)
                let run = Task { try await worker.runUntilIdle() }
                try await harness.until { try await harness.finished("completed") > 0 }
                return run
            }
            try await run.value
        }
    }
}
