import Testing

@testable import JobQueue

/// The conclusions that a worker draws from its claims.
@Suite struct WorkerCoreClaimTests {
    private let now = ContinuousClock.now

    /// Whether the next claim is a full scan depends on how many jobs the lanes without limits brought, however many
    /// came from lanes under limits.
    @Test(arguments: [(1, 0, false), (1, 1, true), (0, 1, false)])
    func lanesWithoutLimitsComeShortByThemselves(_ limited: Int, plain: Int, isPlainFull: Bool) {
        var core = core()
        var (plainClaim, limitedClaim) = (PlainClaim(worker: 1), LimitedClaim())
        for id in 0..<plain { plainClaim.add(row(id)) }
        limitedClaim.jobs = (0..<limited).map { ClaimedJob(row(10 + $0), of: 1) }
        core.plan.claimSent(from: .all)
        core.claimed(plainClaim, limitedClaim, of: exchange(), wanted: 2, now: now)
        // After a claim that came short and cost little, the next one is a full scan.
        #expect((core.bounds.bounds(now: now) != nil) == isPlainFull)
        #expect(core.plan.isHungry == (limited == 1 || isPlainFull))
    }

    /// Without other lanes the lanes under limits get all slots; otherwise they get half.
    @Test func lanesUnderLimitsAloneGetAllSlots() {
        #expect(exchange(plain: []).share(of: 9) == 9)
        #expect(exchange().share(of: 9) == 5)
    }

    /// The claim at the end of its job found no room under the limit, because the row could not be written yet, and
    /// nothing else notifies of that room.
    @Test func anOutcomeThatWaitedForItsRowCallsForAClaim() {
        var core = core()
        core.registered(1, serverTime: 0, sentAt: now, now: now)
        core.plan.claimSent(from: .all)
        core.plan.finished = 1
        core.setAside([FinishedJob(job: ClaimedJob(row(0), of: 1), verdict: .end(.completed))], now: now)
        let later = now.advanced(by: .seconds(1))
        #expect(core.step(now: later) == .exchange(claim: 0, from: .all))
        let written = core.takeFinished(now: later)
        core.wrote(written, now: later)
        #expect(core.step(now: later) == .exchange(claim: 50, from: .all))
    }

    private func core() -> WorkerCore { WorkerCore(WorkerConfiguration(name: "test"), reserve: 0, now: now) }

    private func row(_ id: Int) -> JobQueue.ClaimRow {
        (Int64(id + 1), Int64(id + 1), "default", "test.plain", 1, 0, nil, 1, 5, 0, 0, false, "{}")
    }

    private func exchange(plain: [Lane] = JobHarness.plainLanes) -> Worker.Exchange {
        Worker.Exchange(
            batch: [],
            limit: 2,
            scope: .all,
            request: .init(worker: 1, limit: 2),
            plain: plain,
            limited: [Lane(queue: "default", kind: "test.limited", timeout: .seconds(60))],
            limitedBounds: nil,
            number: 1,
            generation: 0,
            plainGoesFirst: false,
            sentAt: now
        )
    }
}
