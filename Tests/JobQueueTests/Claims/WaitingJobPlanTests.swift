import Postgres
import Testing

@testable import JobQueue

/// Jobs that may not run now cost nothing to those that may.
@Suite(.timeLimit(.minutes(5))) struct WaitingJobPlanTests {
    /// Thousands of jobs that wait for one key are not read to find out that their kind still has a limit.
    @Test func whatWaitsForAKeyIsNotWalked() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
                select 'default', 'known.a', 'parked', 'limit', 'hot'
                from generate_series(1, 20000)
                """
            )
            try await harness.execute(
                "insert into accountctl.job_limits (kind, max_running_per_key) values ('known.a', 1)"
            )
            for statistics in [false, true] {
                if statistics { try await harness.execute("analyze accountctl.jobs") }
                let plan = try await harness.pool.withConnection { connection in
                    try await QueryPlan.of(harness.queue.unparking(PlanTests.lanes), generic: true, on: connection)
                }
                plan.check("unpark", most: 20)
            }
        }
    }

    /// Jobs of a paused queue are not even locked: a row lock is a write, and every wake-up would cause a hundred.
    @Test func aPausedQueueIsNotWalked() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = PlanTests.lanes
            try await harness.execute(
                "insert into accountctl.jobs (queue, kind) select 'default', 'known.a' from generate_series(1, 1000)"
            )
            try await harness.pool.withConnection { connection in
                let worker = try queue.addWorker(lanes, on: connection)
                try queue.pause(queue: "default", reason: nil, on: connection)
                for bounds in [nil, [.init(lane: lanes[0].name, priority: 5): 1]] as [ClaimBounds.Start?] {
                    let request = JobQueue.ClaimRequest(worker: worker, limit: 100, bounds: bounds)
                    let claim = try await QueryPlan.of(
                        queue.claimStatement(lanes, request),
                        generic: true,
                        on: connection
                    )
                    #expect(claim.text.contains("LockRows (never executed)"), "\(claim.text)")
                }
            }
        }
    }
}
