import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Claims under limits that have nothing to take.
@Suite(.timeLimit(.minutes(5))) struct IdleLimitTests {
    /// They lock nothing: somebody else has the row, and they do not wait for it.
    @Test(arguments: [ClaimBounds.Start?.none, ClaimBounds.Start(bounds: [:], floor: 1_000_000)])
    func nothingIsLockedForNothing(_ bounds: ClaimBounds.Start?) async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = JobHarness.plainLanes
            let id = try await harness.pool.withConnection { connection in
                try queue.addWorker(
                    lanes,
                    limits: [.init(kind: "test.plain", running: 5, runningPerKey: 1)],
                    on: connection
                )
            }
            let request = JobQueue.ClaimRequest(worker: id, limit: 3, bounds: bounds)
            try await harness.database.withConnection { other in
                try await other.transaction { other in
                    try other.execute("select from accountctl.job_limits for update")
                    let claim = try await harness.pool.withConnection { connection in
                        try await queue.claimLimited(lanes, request, on: connection)
                    }
                    #expect(claim.jobs.isEmpty)
                }
            }
            // Below the bound as well, and one that waits for room.
            try await harness.enqueue(try [JobHarness.plain.job(Note(), limitKey: "a")])
            try await harness.execute("update accountctl.jobs set run_at = 'epoch'")
            let first = try await harness.pool.withConnection { connection in
                try await queue.claimLimited(lanes, request, on: connection).jobs
            }
            #expect(first.count == 1)
            try await harness.enqueue(try [JobHarness.plain.job(Note(), limitKey: "a")])
            try await harness.execute(
                "update accountctl.jobs set state = 'parked', parked_for = 'limit' where state = 'available'"
            )
            try await harness.pool.withConnection { connection in
                _ = try queue.finish(.init(outcome: .completed, jobs: first.map(\.leased)), on: connection)
            }
            let second = try await harness.pool.withConnection { connection in
                try await queue.claimLimited(lanes, request, on: connection).jobs
            }
            #expect(second.count == 1)
        }
    }
}
