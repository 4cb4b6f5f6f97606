import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Only a claim that looked at all jobs under limits counts as the full scan that is due each second.
@Suite(.timeLimit(.minutes(5))) struct FullScanTests {
    static let lanes = ["test.plain", "test.limited"].map {
        Lane(queue: "default", kind: $0, timeout: .seconds(60))
    }

    /// The second claim gives its one slot to the job without a limit; the third looks at urgent jobs only.
    @Test(arguments: [(2, false, ClaimScope.all, true), (1, true, .all, false), (2, false, .urgent, false)])
    func whatCounts(_ limit: Int, plainGoesFirst: Bool, _ scope: ClaimScope, isFull: Bool) async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let worker = try harness.worker(JobRegistry())
            // Of two jobs whose kind may run one at a time, one runs: the claim looks at the other and does not take
            // it.
            let kinds = ["test.plain", "test.limited", "test.limited"]
            try await harness.enqueue(try kinds.map { try NewJob(kind: $0, queue: "default") })
            let id = try await harness.pool.withConnection { connection in
                let id = try queue.addWorker(
                    Self.lanes,
                    limits: [.init(kind: "test.limited", running: 1, runningPerKey: nil)],
                    on: connection
                )
                _ = try await queue.claimLimited([Self.lanes[1]], .init(worker: id, limit: 1), on: connection)
                return id
            }
            let now = ContinuousClock.now
            let exchange = worker.madeExchange(
                claiming: limit,
                from: scope,
                as: id,
                limited: [Self.lanes[1]],
                plainGoesFirst: plainGoesFirst,
                sentAt: now
            )
            let progress = ExchangeProgress()
            try await harness.pool.withConnection { connection in
                try await worker.carryOut(exchange, progress, on: connection)
            }
            #expect(progress.claims.plain?.jobs.count == 1)
            // No lease was registered: the job is not run.
            #expect(worker.conclude(exchange, progress, nil).count == 1)
            #expect(worker.core.withLock { $0.limitedBounds.bounds(now: now) != nil } == isFull)
        }
    }

    /// A claim for fewer jobs, because outcomes with locked rows keep their slots, is full if it got them all: there
    /// may be more.
    @Test func aClaimForLessIsFull() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let worker = try harness.worker(JobRegistry()) { $0.fusesClaims = false }
            try await harness.enqueue((0..<4).map { _ in try NewJob(kind: "test.plain", queue: "default") })
            let id = try await harness.pool.withConnection { try queue.addWorker([Self.lanes[0]], on: $0) }
            let held = try await harness.claim(id, 2)
            var batch = held.map { FinishedJob(job: $0, verdict: .release) }
            // This outcome was locked, and so kept its slot, before the exchange.
            batch[1].wasLocked = true
            worker.core.withLock { $0.plan.claimSent(from: .all) }
            let exchange = worker.madeExchange(batch, claiming: 2, as: id)
            let progress = ExchangeProgress()
            try await harness.database.withConnection { other in
                try await other.transaction { other in
                    try other.execute("select from accountctl.jobs where state = 'running' for update")
                    try await harness.pool.withConnection { connection in
                        try await worker.carryOut(exchange, progress, on: connection)
                    }
                }
            }
            #expect(progress.written.locked.count == 2)
            #expect(progress.claims.plain?.jobs.count == 1)
            _ = worker.conclude(exchange, progress, nil)
            #expect(worker.core.withLock { $0.plan.isHungry })
        }
    }

    /// The bounds of a claim that was cut hold from its end on, since its twenty turns may take longer than bounds
    /// hold.
    @Test(arguments: [(true, true), (false, false)]) func theNextClaimGoesOnWhereOneWasCut(
        _ isCut: Bool,
        isKept: Bool
    ) {
        let key = ClaimBounds.Key(lane: Self.lanes[1].name, priority: 5)
        var bounds = LimitedBounds()
        var claim = LimitedClaim()
        claim.isCut = isCut
        claim.parked = [(key, 700)]
        claim.waiting["test.limited", default: WaitingKeys()]
            .waits(ExactText("a"), at: .init(priority: 5, readyAt: 700, id: 1))
        let began = ContinuousClock.now
        let ended = began.advanced(by: .seconds(2))
        bounds.claimed(claim, wasBounded: false, now: began, endedAt: ended)
        #expect(bounds.bounds(now: ended.advanced(by: .milliseconds(500))) == (isKept ? [key: 700] : nil))
        #expect(bounds.waiting["test.limited"]?.places.count == 1)
        // The bounds expire, since late commits lie below them.
        #expect(bounds.bounds(now: ended.advanced(by: .seconds(1))) == nil)
    }

    /// A claim of urgent jobs is no full scan, but the next claim begins where it was cut.
    @Test func anUrgentClaimThatWasCutIsGoneOnWith() async throws {
        try await JobHarness.with { harness in
            let worker = try harness.worker(JobRegistry())
            let now = ContinuousClock.now
            let exchange = worker.madeExchange(claiming: 1, from: .urgent, as: 1, sentAt: now)
            let key = ClaimBounds.Key(lane: Self.lanes[1].name, priority: 1)
            let progress = ExchangeProgress()
            var claim = LimitedClaim()
            claim.isCut = true
            claim.parked = [(key, 700)]
            progress.claimed(claim)
            _ = worker.conclude(exchange, progress, nil)
            #expect(worker.core.withLock { $0.limitedBounds.bounds(now: now) } == [key: 700])
        }
    }
}
