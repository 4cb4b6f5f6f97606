import TestSupport
import Testing

@testable import JobQueue

/// When the worker claims, how much, and of which jobs.
@Suite struct ExchangePlanTests {
    private static let now = ContinuousClock.now

    /// A worker of ten slots.
    private func plan(reserve: Int = 2, running: Int, finished: Int = 0) -> ExchangePlan {
        var plan = ExchangePlan(slots: 10, reserve: reserve, batch: 500, linger: .milliseconds(2))
        plan.running = running
        plan.finished = finished
        if finished > 0 { plan.oldestFinish = Self.now.advanced(by: .milliseconds(-2)) }
        return plan
    }

    @Test func allJobsShareTheSlotsThatAreFree() {
        for reserve in [0, 2] {
            #expect(plan(reserve: reserve, running: 0).step(now: Self.now) == .exchange(claim: 10, from: .all))
            #expect(plan(reserve: reserve, running: 9).step(now: Self.now) == .exchange(claim: 1, from: .all))
            let leaving = plan(reserve: reserve, running: 8, finished: 2)
            #expect(leaving.step(now: Self.now) == .exchange(claim: 2, from: .all))
        }
    }

    @Test func theReserveIsForUrgentJobsAlone() {
        #expect(plan(running: 10).step(now: Self.now) == .exchange(claim: 2, from: .urgent))
        #expect(plan(running: 11).step(now: Self.now) == .exchange(claim: 1, from: .urgent))
        #expect(plan(running: 12).step(now: Self.now) == .wait(until: nil))
        #expect(plan(reserve: 0, running: 10).step(now: Self.now) == .wait(until: nil))
        // A job that ends in a slot of the reserve frees none for ordinary jobs.
        #expect(plan(running: 11, finished: 1).step(now: Self.now) == .exchange(claim: 1, from: .urgent))
        #expect(plan(running: 10, finished: 2).step(now: Self.now) == .exchange(claim: 2, from: .urgent))
        #expect(plan(running: 9, finished: 3).step(now: Self.now) == .exchange(claim: 1, from: .all))
    }

    /// A claim that found no urgent job says nothing about ordinary ones.
    @Test func whoLookedForUrgentJobsOnlyLooksForTheOthersWhenThereIsRoom() {
        var plan = plan(running: 10)
        plan.claimSent(from: .urgent)
        #expect(plan.step(now: Self.now) == .wait(until: nil))
        plan.leftSome(of: .urgent)
        #expect(plan.step(now: Self.now) == .exchange(claim: 2, from: .urgent))
        plan.claimSent(from: .urgent)
        plan.running = 9
        #expect(plan.step(now: Self.now) == .exchange(claim: 1, from: .all))
        plan.claimSent(from: .all)
        #expect(plan.step(now: Self.now) == .wait(until: nil))
        plan.running = 10
        #expect(plan.step(now: Self.now) == .wait(until: nil))
        plan.wake()
        #expect(plan.step(now: Self.now) == .exchange(claim: 2, from: .urgent))
    }

    /// A claim that was cut because others held jobs is repeated a moment later, but not for ever.
    @Test func aClaimThatOthersCutShortIsRepeated() {
        var plan = plan(running: 5)
        let later = Self.now.advanced(by: .milliseconds(20))
        for isRepeated in [true, false] {
            plan.claimSent(from: .all)
            plan.claimed(0, isCut: true, now: Self.now)
            #expect(plan.step(now: Self.now) == .wait(until: isRepeated ? later : nil))
            plan.lookAgain(now: later)
            #expect(plan.step(now: later) == (isRepeated ? .exchange(claim: 5, from: .all) : .wait(until: nil)))
        }
        plan.claimed(1, isCut: true, now: Self.now)
        #expect(plan.step(now: Self.now) == .wait(until: later))
    }

    /// Urgent claims that come back empty while all slots are taken are not repeated for ever.
    @Test func aCutClaimOfUrgentJobsIsRepeatedOnce() {
        var plan = plan(running: 10)
        let later = Self.now.advanced(by: .milliseconds(20))
        plan.claimSent(from: .urgent)
        plan.claimed(0, isCut: true, now: Self.now)
        plan.lookAgain(now: later)
        #expect(plan.step(now: later) == .exchange(claim: 2, from: .urgent))
        plan.claimSent(from: .urgent)
        plan.claimed(0, isCut: false, now: later)
        plan.lookAgain(now: later)
        #expect(plan.step(now: later) == .wait(until: nil))
    }

    /// While a suspect runs alone ordinary jobs wait, and a signal about them is not forgotten.
    @Test func aClaimOfASuspectTellsNothingOfTheOthers() {
        var plan = plan(running: 9)
        plan.claimSent(from: .suspects)
        #expect(plan.step(now: Self.now) == .exchange(claim: 1, from: .all))
        plan.running = 10
        #expect(plan.step(now: Self.now) == .exchange(claim: 2, from: .urgent))
        plan.claimSent(from: .all)
        plan.claimed(1, isCut: true, now: Self.now)
        plan.claimSent(from: .suspects)
        #expect(plan.step(now: Self.now) == .wait(until: Self.now.advanced(by: .milliseconds(20))))
    }

    /// Lanes that were left out while others held the locks of limits are looked at when the wait is over, by a worker
    /// that ends when idle too.
    @Test func heldLimitsAreLookedAtAgain() {
        for endsWhenIdle in [false, true] {
            var plan = plan(running: 0)
            plan.endsWhenIdle = endsWhenIdle
            plan.claimSent(from: .all)
            let later = Self.now.advanced(by: .seconds(1))
            plan.limitsHeldUntil = later
            plan.lookAgain(now: Self.now)
            #expect(plan.step(now: Self.now) == .wait(until: later))
            plan.lookAgain(now: later)
            #expect(plan.limitsHeldUntil == nil)
            #expect(plan.step(now: later) == .exchange(claim: 10, from: .all))
            plan.claimSent(from: .all)
            #expect(plan.step(now: later) == (endsWhenIdle ? .end : .wait(until: nil)))
        }
    }

    /// The reserve is closed while a suspect runs alone, and in a worker that is ending.
    @Test func theReserveIsClosedWhenNothingMayBeClaimed() {
        var plan = plan(running: 10)
        plan.mayClaim = false
        #expect(plan.step(now: Self.now) == .wait(until: nil))
        plan.mayClaim = true
        plan.isStopping = true
        #expect(plan.step(now: Self.now) == .wait(until: nil))
        plan.running = 0
        #expect(plan.step(now: Self.now) == .end)
    }

    /// Whatever happens meanwhile, a worker that was woken, may claim and has a free slot waits only for the end of a
    /// pause or a moment for other outcomes, until it has claimed.
    @Test func aWakeUpIsNotForgotten() {
        for seed in UInt64(1)...500 {
            var random = SeededRandom(seed: seed)
            var plan = ExchangePlan(slots: 4, reserve: 1, batch: 3, linger: .milliseconds(2))
            var now = Self.now
            var isWoken = true
            for _ in 0..<200 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    plan.wake()
                    isWoken = true
                case 1 where plan.running > 0:
                    plan.running -= 1
                    plan.finished += 1
                    plan.oldestFinish = plan.oldestFinish ?? now
                case 2:
                    now = now.advanced(by: .milliseconds(Int.random(in: 1...30, using: &random)))
                case 3:
                    plan.pausedUntil = now.advanced(by: .milliseconds(20))
                    plan.wake()
                    isWoken = true
                case 4:
                    plan.mayClaim.toggle()
                default:
                    plan.lookAgain(now: now)
                    switch plan.step(now: now) {
                    case .exchange(let limit, let scope):
                        plan.finished -= min(plan.finished, plan.batch)
                        plan.oldestFinish = plan.finished > 0 ? now : nil
                        guard limit > 0 else { break }
                        plan.claimSent(from: scope)
                        if scope == .all { isWoken = false }
                        let found = Int.random(in: 0...limit, using: &random)
                        plan.running += found
                        if found == limit { plan.leftSome(of: scope) }
                        plan.claimed(found, isCut: Bool.random(using: &random), now: now)
                    case .wait(let until):
                        guard isWoken, plan.mayClaim, plan.freeSlots > 0 else { break }
                        let latest = now.advanced(by: .milliseconds(20))
                        #expect(until.map { $0 <= latest } == true, "it waits on, seed \(seed)")
                    case .end:
                        Issue.record("ended, seed \(seed)")
                    }
                }
            }
        }
    }
}
