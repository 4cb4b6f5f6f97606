import Testing

@testable import JobQueue

/// The turns of suspects, which must run alone, without a table or a clock.
@Suite struct SuspectTurnTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Wraps the macro, which does not allow a mutating call in its expression.
    private func expect(_ answer: Bool, _ expected: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(answer == expected, sourceLocation: location)
    }

    /// The jobs that run at the same time: ordinary ones and suspects, with or without the last suspect to begin.
    private func beside(ordinary: Int = 0, suspects: Int = 0, hasLast: Bool = false, hasRoom: Bool = true)
        -> SuspectTurn.Surroundings
    {
        .init(occupied: ordinary + suspects, suspects: suspects, hasLast: hasLast, hasRoom: hasRoom)
    }

    private func lease(_ id: Int64) -> JobLease { JobLease(id: id, lease: id, worker: 1) }

    @Test func aSuspectRunsAloneOnceTheOthersHaveEnded() {
        var turn = SuspectTurn()
        expect(turn.found(now: start), true)
        expect(turn.found(now: start), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: at(1)), false)
        expect(turn.claimsSuspect(beside: beside(), now: at(2)), true)
        turn.took(lease(1))
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(3)), false)
        #expect(!turn.allowsOrdinary)
    }

    /// A suspect that may not begin, because of a limit for instance, stops ordinary work more and more rarely.
    @Test func fruitlessTurnsComeRarer() {
        var turn = SuspectTurn()
        var waits: [Duration] = []
        for _ in 0..<8 {
            turn.noneLeft(now: start)
            if case .ordinary(let until?) = turn.phase { waits.append(until - start) }
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        turn.took(lease(1))
        turn.noneLeft(now: start)
        #expect(turn.phase == .ordinary(until: at(1)))
    }

    /// A turn is given up in time even if no job ends and no answer comes.
    @Test func aTurnIsGivenUpInTime() {
        var turn = SuspectTurn()
        #expect(turn.givesUpAt == nil)
        turn.found(now: start)
        #expect(turn.givesUpAt == at(30))
        expect(turn.claimsSuspect(beside: beside(), now: at(2)), true)
        #expect(turn.givesUpAt == at(12))
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(12)), false)
        #expect(turn.givesUpAt == nil)

        var core = WorkerCore(WorkerConfiguration(name: "t"), reserve: 0, now: start)
        core.worker = 1
        core.book.registered(sentAt: at(10))
        core.plan.running = 1
        core.suspects.found(now: start)
        expect(core.claimsSuspect(toldBefore: start, now: at(20)), false)
        #expect(core.step(now: at(20)) == .wait(until: at(30)))
        expect(core.claimsSuspect(toldBefore: start, now: at(30)), false)
        guard case .exchange(_, from: .all) = core.step(now: at(30)) else {
            Issue.record("ordinary jobs are not claimed")
            return
        }
    }

    /// A thousand suspects of hours each neither wait for one another nor make ordinary jobs wait.
    @Test func aSuspectThatOutlivedItsSolitudeIsNotWaitedFor() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(), now: start), true)
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(9)), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(10)), false)
        #expect(turn.allowsOrdinary)
        // Ordinary work now has its turn, for as long as it has waited.
        expect(turn.found(now: at(19)), false)
        expect(turn.found(now: at(20)), true)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1, suspects: 1), now: at(21)), false)
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: at(22)), true)
    }

    /// Short suspects follow each other at once even while a long one runs, and nothing waits for one that has ended.
    @Test func aShortSuspectIsFollowedByTheNextThoughALongOneRuns() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: start), true)
        turn.took(lease(2))
        expect(turn.claimsSuspect(beside: beside(suspects: 2, hasLast: true), now: at(0.1)), false)
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: at(0.2)), true)
        turn.took(lease(3))
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: at(1)), false)
        #expect(turn.phase == .ordinary(until: at(2)))
    }

    /// Suspects begin one after the other beside a long ordinary job too; the next turn need not be given up three
    /// times first.
    @Test func aForcedTurnIsOneOfManySuspects() {
        var turn = SuspectTurn()
        turn.turnsGivenUp = 0
        for begin in [0.0, 91] {
            expect(turn.found(now: at(begin)), true)
            expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: at(begin + 29)), false)
            expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: at(begin + 30)), true)
            turn.took(lease(1))
            expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: at(begin + 30.5)), true)
            expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: at(begin + 31)), false)
            // Ordinary work goes on for longer than the turn took, since the long job may run for hours.
            #expect(turn.phase == .ordinary(until: at(begin + 91)))
        }
    }

    /// Suspects need a free slot like all other jobs: the reserve is for urgent jobs.
    @Test func noSuspectBeginsWithoutRoom() {
        var turn = SuspectTurn()
        turn.found(now: start)
        let full = beside(suspects: 2, hasRoom: false)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1, suspects: 1, hasRoom: false), now: at(1)), false)
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: at(2)), true)
        expect(turn.claimsSuspect(beside: full, now: at(2.5)), false)
        expect(turn.claimsSuspect(beside: full, now: at(3)), false)
        #expect(turn.allowsOrdinary)

        var configuration = WorkerConfiguration(name: "t")
        configuration.slots = 2
        var core = WorkerCore(configuration, reserve: 8, now: start)
        core.worker = 1
        core.book.registered(sentAt: start)
        core.suspects.found(now: start)
        core.plan.running = 2
        expect(core.claimsSuspect(toldBefore: start, now: start), false)
        core.plan.running = 0
        core.plan.locked = 2
        expect(core.claimsSuspect(toldBefore: start, now: start), false)
        core.plan.locked = 1
        // After a failure the worker claims nothing for a while.
        core.plan.pausedUntil = at(1)
        expect(core.claimsSuspect(toldBefore: start, now: start), false)
        expect(core.claimsSuspect(toldBefore: start, now: at(1)), true)
    }

    /// If suspects of earlier turns occupy every slot the turn waits neither for them nor for a slot.
    @Test func aTurnAmongSuspectsAloneIsGivenUpAtOnceWithoutRoom() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(suspects: 2, hasRoom: false), now: at(1)), false)
        #expect(turn.phase == .ordinary(until: at(61)))
    }

    /// A suspect that another worker took, or that was cancelled, ends its turn at once.
    @Test func aSuspectThatIsGoneHoldsUpNothing() {
        var turn = SuspectTurn()
        expect(turn.vanished(), false)
        turn.found(now: start)
        expect(turn.vanished(), true)
        #expect(turn.allowsOrdinary)
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(), now: start), true)
        // The suspect that can no longer be found is the one that runs here.
        expect(turn.vanished(), false)
        #expect(!turn.allowsOrdinary)
    }

    /// Long ordinary jobs make turns rarer, where a fixed pace would leave a third of all time without claims; in the
    /// end a suspect begins beside them.
    @Test func turnsGivenUpComeRarerUntilASuspectBeginsBesideOthers() {
        var turn = SuspectTurn()
        var now = start
        var waits: [Duration] = []
        for _ in 0..<3 {
            expect(turn.found(now: now), true)
            let givenUpAt = now.advanced(by: .seconds(30))
            expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: givenUpAt), false)
            guard case .ordinary(let until?) = turn.phase else { break }
            waits.append(until - givenUpAt)
            now = until
        }
        #expect(waits == [60, 120, 240].map { .seconds($0) })
        expect(turn.found(now: now), true)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: now.advanced(by: .seconds(29))), false)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1), now: now.advanced(by: .seconds(30))), true)
        // No other job joins it for as long as none joins a suspect that runs alone.
        let joined = beside(ordinary: 1, suspects: 1, hasLast: true)
        expect(turn.claimsSuspect(beside: joined, now: now.advanced(by: .seconds(39))), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(beside: joined, now: now.advanced(by: .seconds(40))), false)
        #expect(turn.allowsOrdinary)
    }
}
