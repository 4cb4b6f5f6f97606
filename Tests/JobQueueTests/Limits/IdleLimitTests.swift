import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Exchanges with lanes under limits when there is nothing to claim.
@Suite(.timeLimit(.minutes(5))) struct IdleLimitTests {
    /// Such exchanges lock nothing: they do not wait while another session has the rows of the limits locked.
    @Test(arguments: [ClaimBounds.Start?.none, ClaimBounds.Start(bounds: [:], floor: 1_000_000)])
    func nothingIsLockedForNothing(_ bounds: ClaimBounds.Start?) async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = JobHarness.plainLanes
            let worker = try harness.worker(JobRegistry())
            let id = try await harness.pool.withConnection { connection in
                try queue.addWorker(
                    lanes,
                    limits: [.init(kind: "test.plain", running: 5, runningPerKey: 1)],
                    on: connection
                )
            }
            @Sendable func exchanged() async throws -> ExchangeProgress {
                let exchange = worker.madeExchange(
                    claiming: 3,
                    as: id,
                    plain: [],
                    limited: lanes,
                    limitedBounds: bounds
                )
                let progress = ExchangeProgress()
                try await harness.pool.withConnection { connection in
                    try await worker.carryOut(exchange, progress, on: connection)
                }
                return progress
            }
            try await harness.database.withConnection { other in
                try await other.transaction { other in
                    try other.execute("select from accountctl.job_limits for update")
                    let idle = try await exchanged()
                    #expect(idle.limitFailure == nil)
                    #expect(idle.claims.limited == nil)
                }
            }
            // A job below the bound, then one that waits for room.
            try await harness.enqueue(try [JobHarness.plain.job(Note(), limitKey: "a")])
            try await harness.execute("update accountctl.jobs set run_at = 'epoch'")
            let first = try await exchanged().claims.limited?.jobs ?? []
            #expect(first.count == 1)
            try await harness.enqueue(try [JobHarness.plain.job(Note(), limitKey: "a")])
            try await harness.execute(
                "update accountctl.jobs set state = 'parked', parked_for = 'limit' where state = 'available'"
            )
            try await harness.pool.withConnection { connection in
                _ = try queue.finish(.init(outcome: .completed, jobs: first.map(\.leased)), on: connection)
            }
            #expect(try await exchanged().claims.limited?.jobs.count == 1)
        }
    }
}
