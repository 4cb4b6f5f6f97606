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

    @Test func aSuspectRunsAloneOnceTheOthersHaveEnded() {
        var turn = SuspectTurn()
        expect(turn.found(now: start), true)
        expect(turn.found(now: start), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: at(1)), false)
        expect(turn.claimsSuspect(occupied: 0, suspects: 0, now: at(2)), true)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: at(3)), false)
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
        turn.took()
        turn.noneLeft(now: start)
        #expect(turn.phase == .ordinary(until: at(1)))
    }

    /// One that takes an hour does not stop the worker for an hour.
    @Test func aLongSuspectIsJoinedByOrdinaryJobs() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(occupied: 0, suspects: 0, now: start), true)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: at(9)), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: at(10)), false)
        #expect(turn.allowsOrdinary)
        expect(turn.found(now: at(30)), false)
        expect(turn.found(now: at(70)), true)
    }

    /// Nothing need end, nobody need come: what a turn holds up waits no longer than it may.
    @Test func aTurnIsGivenUpInTime() {
        var turn = SuspectTurn()
        #expect(turn.givesUpAt == nil)
        turn.found(now: start)
        #expect(turn.givesUpAt == at(30))
        expect(turn.claimsSuspect(occupied: 0, suspects: 0, now: at(2)), true)
        #expect(turn.givesUpAt == at(12))
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: at(12)), false)
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

    /// A thousand suspects that take hours each do not wait for one another.
    @Test func aSuspectThatOutlivedItsSolitudeIsNotWaitedFor() {
        var turn = SuspectTurn()
        turn.found(now: start)
        expect(turn.claimsSuspect(occupied: 0, suspects: 0, now: start), true)
        expect(turn.claimsSuspect(occupied: 1, suspects: 1, now: at(9)), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(occupied: 1, suspects: 1, now: at(10)), false)
        #expect(turn.allowsOrdinary)
        // Ordinary work has its turn, as long as it has waited.
        expect(turn.found(now: at(19)), false)
        expect(turn.found(now: at(20)), true)
        expect(turn.claimsSuspect(occupied: 2, suspects: 1, now: at(21)), false)
        expect(turn.claimsSuspect(occupied: 1, suspects: 1, now: at(22)), true)
    }

    /// Another worker took it, or somebody cancelled it.
    @Test func aSuspectThatIsGoneHoldsUpNothing() {
        var turn = SuspectTurn()
        expect(turn.vanished(), false)
        turn.found(now: start)
        expect(turn.vanished(), true)
        #expect(turn.allowsOrdinary)
        turn.found(now: start)
        expect(turn.claimsSuspect(occupied: 0, suspects: 0, now: start), true)
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
            expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: givenUpAt), false)
            guard case .ordinary(let until?) = turn.phase else { break }
            waits.append(until - givenUpAt)
            now = until
        }
        #expect(waits == [60, 120, 240].map { .seconds($0) })
        expect(turn.found(now: now), true)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: now.advanced(by: .seconds(29))), false)
        expect(turn.claimsSuspect(occupied: 1, suspects: 0, now: now.advanced(by: .seconds(30))), true)
        // Nothing else joins it for as long as one that runs alone.
        expect(turn.claimsSuspect(occupied: 2, suspects: 1, now: now.advanced(by: .seconds(39))), false)
        #expect(!turn.allowsOrdinary)
        expect(turn.claimsSuspect(occupied: 2, suspects: 1, now: now.advanced(by: .seconds(40))), false)
        #expect(turn.allowsOrdinary)
    }
}
