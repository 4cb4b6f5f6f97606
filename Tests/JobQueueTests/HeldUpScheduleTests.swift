import Postgres
import Testing

@testable import JobQueue

/// A schedule whose job another session holds up.
@Suite(.timeLimit(.minutes(5))) struct HeldUpScheduleTests {
    /// Such as by a transaction that somebody forgot in a terminal: the others come all the same, and it does afterwards.
    @Test func keepsNoOtherFromItsTurn() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            let held = try JobHarness.plain.job(Note(), uniqueKey: "held")
            let other = try JobHarness.plain.job(Note(), uniqueKey: "other")
            try registry.schedule(PeriodicJob(name: "held", schedule: "* * * * *", job: held))
            try registry.schedule(PeriodicJob(name: "other", schedule: "* * * * *", job: other))
            // The first instant ever seen would only be remembered.
            try await harness.execute(
                """
                insert into accountctl.periodic_slots (name, slot)
                select name, now() - interval '1 hour'
                from unnest(array['held', 'other']) as name
                """
            )
            let worker = try harness.worker(registry)
            try await worker.begin()
            let zones = try await worker.readZones()
            try await harness.pool.withTransaction { session in
                _ = try harness.queue.enqueue([held], on: session)
                await #expect(throws: PostgresError.self) { try await worker.enqueuePeriodic(zones) }
                let found = try await harness.count("select count(*) from accountctl.jobs where unique_key = 'other'")
                #expect(found == 1)
            }
            try await worker.enqueuePeriodic(zones)
            let turns = try await harness.count(
                "select count(*) from accountctl.periodic_slots where name = 'held' and job is not null"
            )
            #expect(turns == 1)
        }
    }
}
