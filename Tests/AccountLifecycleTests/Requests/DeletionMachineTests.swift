import AccountLifecycle
import Foundation
import Testing

@Suite struct DeletionMachineTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func facts(_ change: (inout DeletionFacts) -> Void = { _ in }) -> DeletionFacts {
        var facts = DeletionFacts(state: .requested, now: now, runAfter: now)
        change(&facts)
        return facts
    }

    private func lockedOut(done: [DeletionStep] = [], _ change: (inout DeletionFacts) -> Void = { _ in })
        -> DeletionFacts
    {
        facts { facts in
            facts.state = .running
            facts.lockedOutAt = now.addingTimeInterval(-10)
            facts.settleAfter = now.addingTimeInterval(3590)
            facts.finished[.preflight] = now.addingTimeInterval(-11)
            facts.finished[.lockOut] = now.addingTimeInterval(-10)
            for step in done { facts.finished[step] = now }
            change(&facts)
        }
    }

    @Test func waitsForTheEndOfGrace() {
        let end = now.addingTimeInterval(86_400)
        #expect(DeletionMachine.next(facts { $0.runAfter = end }) == .wait(.grace, nil, until: end))
    }

    @Test func graceEndsWithItsLastInstant() {
        #expect(DeletionMachine.next(facts { $0.state = .grace }) == .perform(.preflight, .requested))
    }

    @Test(arguments: [DeletionState.verified, .cancelled])
    func anEndedRequestIsLeftAlone(state: DeletionState) {
        #expect(DeletionMachine.next(lockedOut { $0.state = state }) == .end)
        #expect(DeletionMachine.next(facts { $0.state = state }) == .end)
    }

    @Test(arguments: [DeletionState.requested, .grace, .held, .blocked, .waitingForApple])
    func everyWaitBeforeTheLockOutIsLeftThroughAPreflight(state: DeletionState) {
        #expect(DeletionMachine.next(facts { $0.state = state }) == .perform(.preflight, .requested))
    }

    @Test func aFreshPreflightLeadsToTheLockOut() {
        #expect(
            DeletionMachine.next(facts { $0.finished[.preflight] = now.addingTimeInterval(-59) })
                == .perform(.lockOut, .requested)
        )
    }

    /// The database has failed over to a host whose clock is behind.
    @Test func aPreflightThatIsStillToComeIsRepeated() {
        #expect(
            DeletionMachine.next(facts { $0.finished[.preflight] = now.addingTimeInterval(3600) })
                == .perform(.preflight, .requested)
        )
    }

    @Test func anOldPreflightIsRepeated() {
        #expect(
            DeletionMachine.next(facts { $0.finished[.preflight] = now.addingTimeInterval(-61) })
                == .perform(.preflight, .requested)
        )
    }

    /// Otherwise no account would ever be locked out where the database is that slow.
    @Test func aPreflightHoldsAsLongAsItTook() {
        func facts(took: TimeInterval, ago: TimeInterval) -> DeletionFacts {
            self.facts {
                $0.preflightTook = .seconds(took)
                $0.finished[.preflight] = now.addingTimeInterval(-ago)
            }
        }
        #expect(DeletionMachine.next(facts(took: 300, ago: 299)) == .perform(.lockOut, .requested))
        #expect(DeletionMachine.next(facts(took: 300, ago: 301)) == .perform(.preflight, .requested))
        #expect(DeletionMachine.next(facts(took: 1, ago: 59)) == .perform(.lockOut, .requested))
    }

    @Test func whatFollowsAStepIsWhatTheMachineSaysOnceItIsDone() {
        let cleaning: [DeletionStep] = [.revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .verify]
        for (index, step) in cleaning.dropLast().enumerated() {
            let likely = DeletionMachine.likely(after: step, lockedOut(done: Array(cleaning[..<index])))
            #expect(likely?.0 == cleaning[index + 1] && likely?.1 == .running, "after \(step)")
        }
        let settled = DeletionMachine.likely(after: .verify, lockedOut(done: cleaning) { $0.settleAfter = now })
        #expect(settled?.0 == .settle && settled?.1 == .settling)
        let swept = DeletionMachine.likely(after: .settle, lockedOut(done: cleaning) { $0.settleAfter = now })
        #expect(swept?.0 == .receipt && swept?.1 == .settling)
    }

    /// The time of the lock-out itself counts: the facts were read before it.
    @Test func afterTheLockOutComesTheFirstStepOfTheRun() {
        let before = facts { $0.finished[.preflight] = now }
        let likely = DeletionMachine.likely(after: .lockOut, before)
        #expect(likely?.0 == .revokeApple && likely?.1 == .running)
    }

    @Test func nothingIsLikelyWhereTheFactsHaveToSayIt() {
        let done: [DeletionStep] = [.revokeApple, .deleteAvatars, .deleteRows, .scrubAuth]
        // The beginning of the lock-out is not recorded on a guess.
        #expect(DeletionMachine.likely(after: .preflight, facts()) == nil)
        #expect(DeletionMachine.likely(after: .receipt, lockedOut(done: done + [.verify, .settle])) == nil)
        // Old tokens may still write for a while.
        #expect(DeletionMachine.likely(after: .verify, lockedOut(done: done)) == nil)
        for brake in [\DeletionFacts.isPaused, \.isHeld, \.isOtherAccount] {
            let braked = lockedOut(done: done) { $0[keyPath: brake] = true }
            #expect(DeletionMachine.likely(after: .deleteRows, braked) == nil)
            #expect(DeletionMachine.likely(after: .lockOut, facts { $0[keyPath: brake] = true }) == nil)
        }
        for state in [DeletionState.verified, .cancelled] {
            #expect(DeletionMachine.likely(after: .deleteRows, lockedOut(done: done) { $0.state = state }) == nil)
        }
    }

    /// A step before the one that just ran may be missing.
    @Test func whatWasTakenBackComesFirst() {
        let likely = DeletionMachine.likely(after: .deleteRows, lockedOut(done: [.revokeApple]))
        #expect(likely?.0 == .deleteAvatars && likely?.1 == .running)
    }

    @Test func brakesHoldBeforeAndAfterTheLockOut() {
        let later = now.addingTimeInterval(DeletionMachine.lookAgainAfter / .seconds(1))
        for facts in [facts(), lockedOut(), lockedOut(done: [.revokeApple, .deleteAvatars])] {
            var held = facts
            held.isHeld = true
            #expect(DeletionMachine.next(held) == .wait(.held, Situation(.legalHold), until: later))
            var paused = facts
            paused.isPaused = true
            #expect(DeletionMachine.next(paused) == .wait(.held, Situation(.paused), until: later))
            held.isPaused = true
            #expect(DeletionMachine.next(held) == .wait(.held, Situation(.legalHold), until: later))
        }
    }

    @Test func anotherAccountUnderTheSameIDIsNeverTouched() {
        let later = now.addingTimeInterval(3600)
        let blocked = DeletionMachine.Decision.wait(.blocked, Situation(.otherAccount), until: later)
        #expect(DeletionMachine.next(facts { $0.isOtherAccount = true }) == blocked)
        for count in 0...DeletionStep.allCases.count {
            let done = Array(DeletionStep.allCases.prefix(count))
            // Takes precedence over a brake that an operator can lift.
            #expect(
                DeletionMachine.next(
                    lockedOut(done: done) {
                        $0.isOtherAccount = true
                        $0.isPaused = true
                        $0.isHeld = true
                    }
                ) == blocked
            )
        }
    }

    @Test func takesTheStepsInOrder() {
        let order: [DeletionStep] = [.revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .verify]
        for (index, step) in order.enumerated() {
            #expect(DeletionMachine.next(lockedOut(done: Array(order[..<index]))) == .perform(step, .running))
        }
    }

    @Test(arguments: [DeletionState.held, .blocked, .residue, .settling])
    func theStateAfterTheLockOutComesFromTheStepsAlone(state: DeletionState) {
        #expect(
            DeletionMachine.next(lockedOut(done: [.revokeApple]) { $0.state = state })
                == .perform(.deleteAvatars, .running)
        )
    }

    @Test func waitsUntilNoTokenCanWrite() {
        let done: [DeletionStep] = [.revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .verify]
        let end = now.addingTimeInterval(3590)
        #expect(DeletionMachine.next(lockedOut(done: done)) == .wait(.settling, nil, until: end))
        #expect(
            DeletionMachine.next(lockedOut(done: done) { $0.settleAfter = now }) == .perform(.settle, .settling)
        )
        #expect(
            DeletionMachine.next(lockedOut(done: done + [.settle]) { $0.settleAfter = now })
                == .perform(.receipt, .settling)
        )
    }

    @Test func aSweepThatFindsWorkTakesBackWhatRestsOnIt() {
        #expect(
            DeletionMachine.steps(toRepeatFrom: .deleteAvatars)
                == [.deleteAvatars, .deleteRows, .scrubAuth, .verify, .settle]
        )
        #expect(DeletionMachine.steps(toRepeatFrom: .scrubAuth) == [.scrubAuth, .verify, .settle])
        // The lock-out is never taken back.
        #expect(!DeletionMachine.steps(toRepeatFrom: .preflight).contains { $0 < .revokeApple })
    }

    @Test func failingStepsAreTriedEverLater() {
        let delays = (1...9).map { DeletionMachine.delay(afterFailures: $0) / .seconds(1) }
        #expect(delays == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect(DeletionMachine.delay(afterFailures: 0) == .seconds(30))
        #expect(DeletionMachine.delay(afterFailures: .max) == .seconds(3600))
    }

    /// Walks every reachable combination of recorded steps: whatever a crash leaves, the machine names the first step
    /// that is missing, and nothing irreversible comes before the lock-out.
    @Test func everyCombinationOfRecordsLeadsForward() {
        let steps = DeletionStep.allCases
        for bits in 0..<(1 << steps.count) {
            let done = steps.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
            for isLockedOut in [false, true] {
                let facts = facts { facts in
                    for step in done { facts.finished[step] = now }
                    if isLockedOut {
                        facts.lockedOutAt = now
                        facts.settleAfter = now
                    }
                }
                guard case .perform(let step, _) = DeletionMachine.next(facts) else {
                    Issue.record("stands still with \(done)")
                    continue
                }
                #expect(isLockedOut == (step > .lockOut))
                if step != .lockOut, step != .receipt { #expect(!done.contains(step)) }
            }
        }
    }
}
