import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that become available because their time has come.
@Suite(.timeLimit(.minutes(5))) struct PromotionTests {
    /// Entries of jobs promoted since an old snapshot stay in the index: a short look, fifty times a second, must not
    /// walk over them.
    @Test func promotionsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            // Inserted as due: an update of their time would leave dead entries ahead.
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, run_at)
                select 'default', 'test.plain', 'scheduled', now() - interval '1 hour'
                from generate_series(1, 2000)
                """
            )
            try await harness.behindAnOldSnapshot { connection in
                let queue = harness.queue
                while try queue.promote(on: connection).promoted > 0 {}
                let near = try await harness.entries(of: "jobs_due", on: connection) {
                    _ = try queue.promote(lookingAtAll: false, on: $0)
                }
                let far = try await harness.entries(of: "jobs_due", on: connection) { _ = try queue.promote(on: $0) }
                #expect(far >= 2000)
                #expect(near < 100)
            }
        }
    }

    /// Only a full look finds a job that was committed long after its time.
    @Test(arguments: [(5, 1), (3600, 0)])
    func whatIsLateIsFound(_ seconds: Double, byAShortLook count: Int) async throws {
        try await JobHarness.with { harness in
            let late = try JobHarness.plain.job(Note(), runAt: Date(timeIntervalSinceNow: 3600))
            try await harness.enqueue([late])
            try await harness.execute(
                "update accountctl.jobs set run_at = now() - \(seconds)::double precision * interval '1 second'"
            )
            try await harness.pool.withConnection { connection in
                let near = try harness.queue.promote(lookingAtAll: false, on: connection).promoted
                #expect(near == count)
                let all = try harness.queue.promote(on: connection).promoted
                #expect(all == 1 - count)
            }
        }
    }

    /// The worker's loop takes a full look now and then, not only when the worker starts.
    @Test func aWorkerFindsWhatIsLate() async throws {
        try await JobHarness.with { harness in
            let registry = try harness.recording(JobHarness.plain)
            try await harness.withWorker(registry) {
                // This job shows that the loop has run at least once.
                let soon = try JobHarness.plain.job(Note(), runAt: Date(timeIntervalSinceNow: 0.5))
                try await harness.enqueue([soon])
                try await harness.until { try await harness.effects() == 1 }
                let jobs = [try JobHarness.plain.job(Note(), runAt: Date(timeIntervalSinceNow: 3600))]
                try await harness.enqueue(jobs)
                try await harness.execute("update accountctl.jobs set run_at = now() - interval '1 hour'")
                try await harness.until { try await harness.effects() == 2 }
            }
        }
    }
}
