import Testing

@testable import JobQueue

/// The turns of jobs that must run alone, without a table or a clock.
@Suite struct SuspectTurnTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// A mutating call cannot stand in the macro itself.
    private func expect(_ answer: Bool, _ expected: Bool, _ location: SourceLocation = #_sourceLocation) {
        #expect(answer == expected, sourceLocation: location)
    }

    /// What runs beside: some ordinary jobs, some suspects, the last one to begin among them or not.
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

    /// A suspect that may not begin, under a limit perhaps, stops ordinary work more and more rarely.
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

    /// Nothing need end, nobody need come: what a turn holds up waits no longer than it may.
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

    /// A thousand suspects that take hours each do not wait for one another, and ordinary jobs for none of them.
    @Test func aSuspectThatOutlivedItsSolitudeIsNotWaitedFor() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(), now: start), true)
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(9)), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(beside: beside(suspects: 1, hasLast: true), now: at(10)), false)
        #expect(turn.allowsOrdinary)
        // Ordinary work has its turn, as long as it has waited.
        expect(turn.found(now: at(19)), false)
        expect(turn.found(now: at(20)), true)
        expect(turn.claimsSuspect(beside: beside(ordinary: 1, suspects: 1), now: at(21)), false)
        expect(turn.claimsSuspect(beside: beside(suspects: 1), now: at(22)), true)
    }

    /// Short ones follow each other at once, though a long one goes on, and nothing waits for what has ended.
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

    /// They begin one after the other beside a long ordinary job, too; the next turn need not be given up three times.
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
            // Longer than it took: the long one may go on for hours.
            #expect(turn.phase == .ordinary(until: at(begin + 91)))
        }
    }

    /// Slots are counted for them as for all others: the reserve is that of urgent jobs.
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
        // After a failure nothing is asked for a while.
        core.plan.pausedUntil = at(1)
        expect(core.claimsSuspect(toldBefore: start, now: start), false)
        expect(core.claimsSuspect(toldBefore: start, now: at(1)), true)
    }

    /// Suspects of earlier turns have every slot: they are not waited for, and neither is what the wait does not bring.
    @Test func aTurnAmongSuspectsAloneIsGivenUpAtOnceWithoutRoom() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(suspects: 2, hasRoom: false), now: at(1)), false)
        #expect(turn.phase == .ordinary(until: at(61)))
    }

    /// Another worker took it, or somebody cancelled it.
    @Test func aSuspectThatIsGoneHoldsUpNothing() {
        var turn = SuspectTurn()
        expect(turn.vanished(), false)
        turn.found(now: start)
        expect(turn.vanished(), true)
        #expect(turn.allowsOrdinary)
        turn.found(now: start)
        expect(turn.claimsSuspect(beside: beside(), now: start), true)
        // It is the one that runs here.
        expect(turn.vanished(), false)
        #expect(!turn.allowsOrdinary)
    }

    /// Long ordinary jobs make turns rarer, instead of a third of all time without claims; and in the end a suspect
    /// begins beside them.
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
        // Nothing else joins it for as long as one that runs alone.
        let joined = beside(ordinary: 1, suspects: 1, hasLast: true)
        expect(turn.claimsSuspect(beside: joined, now: now.advanced(by: .seconds(39))), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(beside: joined, now: now.advanced(by: .seconds(40))), false)
        #expect(turn.allowsOrdinary)
    }
}
