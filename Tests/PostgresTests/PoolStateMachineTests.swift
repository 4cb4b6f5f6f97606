import Testing

@testable import Postgres

@Suite struct PoolStateMachineTests {
    typealias Machine = PoolStateMachine
    typealias Request = PoolStateMachine.RequestID
    typealias Member = PoolStateMachine.ConnectionID

    private let start = ContinuousClock.now
    private var end: ContinuousClock.Instant { at(10_000) }

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func machine(maximum: Int = 2) -> Machine {
        Machine(
            configuration: Machine.Configuration(
                maximum: maximum,
                maximumAge: .seconds(1000),
                initialBackoff: .seconds(2),
                maximumBackoff: .seconds(8)
            )
        )
    }

    private func request(_ number: Int) -> Request { Request(number: number) }
    private func member(_ number: Int) -> Member { Member(number: number) }

    /// A machine whose first request has made the first connection and holds it.
    private func machineInUse(maximum: Int = 2, jitter: Double = 0) -> Machine {
        var machine = machine(maximum: maximum)
        let step = machine.request(request(1), until: end, now: start)
        #expect(step.answer == .wait && step.actions.connect == [member(1): end])
        let made = machine.connected(member(1), now: start, jitter: jitter)
        #expect(made.grants == [request(1): .new(member(1))])
        return machine
    }

    @Test func makesConnectionsUpToTheMaximumThenQueues() {
        var machine = machine()
        for number in 1...4 {
            let step = machine.request(request(number), until: at(number), now: start)
            #expect(step.answer == .wait)
            // Each connection is made for one request, and the attempt ends at that request's deadline.
            #expect(step.actions.connect == (number <= 2 ? [member(number): at(number)] : [:]))
        }
        let step1 = machine.connected(member(1), now: start, jitter: 0)
        #expect(step1 == Machine.Actions(grants: [request(1): .new(member(1))]))
        let step2 = machine.release(member(1), isUsable: true, now: start)
        #expect(step2 == Machine.Actions(grants: [request(2): .lease(member(1))]))
        let step3 = machine.connected(member(2), now: start, jitter: 0)
        #expect(step3.grants == [request(3): .new(member(2))])
    }

    /// When several requests wait, the latest deadline limits the attempt: one that is nearly over says nothing about
    /// how long the server may take.
    @Test func anAttemptHasTheTimeOfWhoeverWaitsLongest() {
        var machine = machineInUse(maximum: 1)
        _ = machine.request(request(2), until: at(5), now: start)
        _ = machine.request(request(3), until: at(30), now: start)
        let step = machine.release(member(1), isUsable: false, now: at(4))
        #expect(step.connect == [member(2): at(30)])
    }

    @Test func whoWaitsForANewConnectionTakesOneThatComesFree() {
        var machine = machineInUse(maximum: 3)
        let step1 = machine.request(request(2), until: end, now: start)
        #expect(step1.actions.connect == [member(2): end])
        let step2 = machine.release(member(1), isUsable: true, now: start)
        #expect(step2 == Machine.Actions(grants: [request(2): .lease(member(1))]))
        // The connection being made serves the next request: no other one is begun.
        let step3 = machine.request(request(3), until: end, now: start)
        #expect(step3.answer == .wait && step3.actions == Machine.Actions())
        let step4 = machine.connected(member(2), now: start, jitter: 0)
        #expect(step4.grants == [request(3): .new(member(2))])
    }

    @Test func aConnectionThatNobodyWaitsForAnyMoreIsKept() {
        var machine = machineInUse()
        _ = machine.request(request(2), until: end, now: start)
        let gaveUp = machine.giveUp(request(2))
        #expect(gaveUp)
        let step1 = machine.connected(member(2), now: start, jitter: 0)
        #expect(step1 == Machine.Actions())
        #expect(machine.counts.idle == 1 && machine.counts.waiting == 0)
        let step2 = machine.request(request(3), until: end, now: start)
        #expect(step2.answer == .granted(.lease(member(2))))
    }

    @Test func servesInOrderAndForgetsWhoGaveUp() {
        var machine = machineInUse(maximum: 1)
        for number in 2...4 {
            let waiting = machine.request(request(number), until: end, now: start).answer
            #expect(waiting == .wait)
        }
        let step6 = machine.giveUp(request(2))
        #expect(step6)
        let step7 = machine.release(member(1), isUsable: true, now: start)
        #expect(step7.grants == [request(3): .lease(member(1))])
        // Too late: the request has already been granted a connection.
        let step8 = machine.giveUp(request(3))
        #expect(!step8)
        let step9 = machine.release(member(1), isUsable: true, now: start)
        #expect(step9.grants == [request(4): .lease(member(1))])
    }

    @Test func anUnusableConnectionMakesRoomForANewOne() {
        var machine = machineInUse(maximum: 1)
        _ = machine.request(request(2), until: end, now: start)
        let actions = machine.release(member(1), isUsable: false, now: start)
        #expect(actions == Machine.Actions(connect: [member(2): end], close: [member(1)]))
    }

    @Test func anOldConnectionIsReplaced() {
        var machine = machineInUse(maximum: 1, jitter: 1)
        let step10 = machine.release(member(1), isUsable: true, now: at(10))
        #expect(step10 == Machine.Actions())
        // Full jitter takes a tenth off the maximum age.
        let (answer, actions) = machine.request(request(2), until: end, now: at(901))
        #expect(answer == .wait)
        #expect(actions == Machine.Actions(connect: [member(2): end], close: [member(1)]))
    }

    /// A single request at a time always takes the same connection: those that it never reaches grow old too.
    @Test func oldConnectionsBelowTheOnesInUseAreClosed() {
        var machine = machineWithThreeIdle()
        for second in [10, 500] {
            let step = machine.request(request(second), until: end, now: at(second))
            #expect(step.answer == .granted(.lease(member(3))) && step.actions == Machine.Actions())
            let back = machine.release(member(3), isUsable: true, now: at(second))
            #expect(back == Machine.Actions())
        }
        _ = machine.request(request(600), until: end, now: at(600))
        let back = machine.release(member(3), isUsable: true, now: at(1000))
        #expect(Set(back.close) == [member(1), member(2), member(3)])
        #expect(machine.counts.idle == 0 && machine.counts.inUse == 0)
    }

    @Test func oldConnectionsAreClosedByARequestThatGetsAYoungerOne() {
        var machine = machine(maximum: 3)
        for number in 1...3 { _ = machine.request(request(number), until: end, now: start) }
        for number in 1...2 { _ = machine.connected(member(number), now: start, jitter: 0) }
        _ = machine.connected(member(3), now: at(100), jitter: 0)
        for number in 1...3 { _ = machine.release(member(number), isUsable: true, now: at(100)) }
        let step = machine.request(request(4), until: end, now: at(1050))
        #expect(step.answer == .granted(.lease(member(3))))
        #expect(step.actions == Machine.Actions(close: [member(1), member(2)]))
        #expect(machine.counts.idle == 0 && machine.counts.inUse == 1)
    }

    @Test func anIdleConnectionThatIsLostIsClosed() {
        var machine = machineWithThreeIdle()
        let lost = machine.lost(member(2))
        #expect(lost == Machine.Actions(close: [member(2)]))
        #expect(machine.counts.idle == 2)
        // The loss of a leased connection is left to its lease, and that of a connection already closed is ignored.
        let step = machine.request(request(4), until: end, now: start)
        #expect(step.answer == .granted(.lease(member(3))))
        for number in 2...3 {
            let again = machine.lost(member(number))
            #expect(again == Machine.Actions())
        }
        #expect(machine.counts.inUse == 1)
        let back = machine.release(member(3), isUsable: false, now: start)
        #expect(back == Machine.Actions(close: [member(3)]))
    }

    private func machineWithThreeIdle() -> Machine {
        var machine = machine(maximum: 3)
        for number in 1...3 { _ = machine.request(request(number), until: end, now: start) }
        for number in 1...3 { _ = machine.connected(member(number), now: start, jitter: 0) }
        for number in 1...3 { _ = machine.release(member(number), isUsable: true, now: start) }
        return machine
    }

    @Test func whoGotADeadConnectionIsTheFirstAgain() {
        var machine = machineInUse(maximum: 1)
        _ = machine.release(member(1), isUsable: true, now: start)
        let step1 = machine.request(request(2), until: end, now: start)
        #expect(step1.answer == .granted(.lease(member(1))))
        _ = machine.request(request(3), until: end, now: start)
        let step2 = machine.release(member(1), isUsable: false, now: start)
        #expect(step2.connect == [member(2): end])
        let step3 = machine.requestAgain(request(2), until: end, now: start)
        #expect(step3.answer == .wait && step3.actions == Machine.Actions())
        let step4 = machine.connected(member(2), now: start, jitter: 0)
        #expect(step4.grants == [request(2): .new(member(2))])
    }

    @Test func backsOffAfterFailuresAndLetsOneTry() {
        var machine = machine(maximum: 3)
        _ = machine.request(request(1), until: end, now: start)
        let failed = machine.connectingFailed(member(1), mayRetry: true, now: start, jitter: 1)
        #expect(failed == Machine.Actions(tickAt: at(2)))
        let step11 = machine.request(request(2), until: end, now: at(1))
        #expect(step11.answer == .wait && step11.actions == Machine.Actions(tickAt: at(2)))
        let step12 = machine.tick(now: at(1))
        #expect(step12.connect.isEmpty)
        let step13 = machine.tick(now: at(2))
        #expect(step13.connect == [member(2): end])
        // The second failure waits twice as long; jitter 0 takes half off.
        _ = machine.connectingFailed(member(2), mayRetry: true, now: at(2), jitter: 0)
        let step14 = machine.tick(now: at(3))
        #expect(step14.tickAt == at(4))
        let step15 = machine.tick(now: at(4))
        #expect(step15.connect == [member(3): end])
        // Connecting works again: a connection is made for each waiting request.
        _ = machine.request(request(3), until: end, now: at(4))
        let step16 = machine.connected(member(3), now: at(4), jitter: 0)
        #expect(step16.grants == [request(1): .new(member(3))])
        #expect(step16.connect == [member(4): end, member(5): end])
    }

    @Test func aHopelessFailureIsToldAndDoesNotBackOff() {
        var machine = machine(maximum: 1)
        _ = machine.request(request(1), until: end, now: start)
        _ = machine.request(request(2), until: end, now: start)
        let step1 = machine.connectingFailed(member(1), mayRetry: false, now: start, jitter: 1)
        #expect(step1 == Machine.Actions(grants: [request(1): .failed], connect: [member(2): end]))
    }

    @Test func closingTellsWhoeverWaits() {
        var machine = machineInUse(maximum: 1)
        _ = machine.request(request(2), until: end, now: start)
        let actions = machine.close()
        #expect(actions == Machine.Actions(grants: [request(2): .closed]))
    }

    @Test func closingEndsEverything() {
        var machine = machine(maximum: 3)
        for number in 1...3 { _ = machine.request(request(number), until: end, now: start) }
        _ = machine.connected(member(1), now: start, jitter: 0)
        _ = machine.connected(member(2), now: start, jitter: 0)
        let gaveUp = machine.giveUp(request(3))
        #expect(gaveUp)
        _ = machine.release(member(1), isUsable: true, now: start)
        let actions = machine.close()
        #expect(actions == Machine.Actions(close: [member(1)]))
        let made = machine.connected(member(3), now: start, jitter: 0)
        #expect(made == Machine.Actions(close: [member(3)]))
        let step18 = machine.request(request(4), until: end, now: start)
        #expect(step18.answer == .granted(.closed))
        let step19 = machine.release(member(2), isUsable: true, now: start)
        #expect(step19.close == [member(2)])
    }
}
