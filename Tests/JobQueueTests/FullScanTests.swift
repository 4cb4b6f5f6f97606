import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Only a claim that looked at everything under limits counts as the one that is due each second.
@Suite(.timeLimit(.minutes(1))) struct FullScanTests {
    static let lanes = ["test.plain", "test.limited"].map {
        Lane(queue: "default", kind: $0, timeout: .seconds(60))
    }

    /// The second gives its one slot to the job without a limit; the third looks at urgent jobs only.
    @Test(arguments: [(2, false, ClaimScope.all, true), (1, true, .all, false), (2, false, .urgent, false)])
    func whatCounts(_ limit: Int, plainGoesFirst: Bool, _ scope: ClaimScope, isFull: Bool) async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let worker = try harness.worker(JobRegistry())
            let id = try await harness.pool.withConnection { connection in
                try queue.enqueue([NewJob(kind: "test.plain", queue: "default")], on: connection)
                return try queue.register(
                    .init(
                        name: "t",
                        version: "1",
                        slots: 2,
                        lanes: Self.lanes,
                        limits: [.init(kind: "test.limited", running: 1, runningPerKey: nil)],
                        lifetime: .seconds(600)
                    ),
                    on: connection
                ).id
            }
            let now = ContinuousClock.now
            let exchange = Worker.Exchange(
                batch: [],
                limit: limit,
                scope: scope,
                request: .init(worker: id, limit: limit),
                limitedBounds: nil,
                number: worker.core.withLock { $0.book.claimSent(now: now) },
                generation: 0,
                plainGoesFirst: plainGoesFirst,
                sentAt: now
            )
            let progress = ExchangeProgress()
            try await harness.pool.withConnection { connection in
                try await worker.carryOut(exchange, [Self.lanes[0]], [Self.lanes[1]], progress, on: connection)
            }
            #expect(progress.claims.plain?.jobs.count == 1)
            // No lease was registered: the job is not run.
            #expect(worker.conclude(exchange, progress, nil).count == 1)
            #expect(worker.core.withLock { $0.limitedBounds.bounds(now: now) != nil } == isFull)
        }
    }
}
