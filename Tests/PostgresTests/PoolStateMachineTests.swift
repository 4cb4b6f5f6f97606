import Testing

@testable import Postgres

@Suite struct PoolStateMachineTests {
    typealias Machine = PoolStateMachine
    typealias Request = PoolStateMachine.RequestID
    typealias Member = PoolStateMachine.ConnectionID

    private let start = ContinuousClock.now

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

    @Test func makesConnectionsUpToTheMaximumThenQueues() {
        var machine = machine()
        let step1 = machine.request(request(1), now: start)
        #expect(step1.answer == .granted(.connect(member(1))))
        let step2 = machine.request(request(2), now: start)
        #expect(step2.answer == .granted(.connect(member(2))))
        let step3 = machine.request(request(3), now: start)
        #expect(step3.answer == .wait)
        let step4 = machine.request(request(4), now: start)
        #expect(step4.answer == .wait)
        let step5 = machine.connected(member(1), now: start, jitter: 0)
        #expect(step5 == Machine.Actions())
        let actions = machine.release(member(1), isUsable: true, now: start)
        #expect(actions.grants == [request(3): .lease(member(1))])
    }

    @Test func servesInOrderAndForgetsWhoGaveUp() {
        var machine = machine(maximum: 1)
        _ = machine.request(request(1), now: start)
        _ = machine.connected(member(1), now: start, jitter: 0)
        for number in 2...4 {
            let waiting = machine.request(request(number), now: start).answer
            #expect(waiting == .wait)
        }
        let step6 = machine.giveUp(request(2))
        #expect(step6)
        let step7 = machine.release(member(1), isUsable: true, now: start)
        #expect(step7.grants == [request(3): .lease(member(1))])
        // Too late: it has been granted something.
        let step8 = machine.giveUp(request(3))
        #expect(!step8)
        let step9 = machine.release(member(1), isUsable: true, now: start)
        #expect(step9.grants == [request(4): .lease(member(1))])
    }

    @Test func anUnusableConnectionMakesRoomForANewOne() {
        var machine = machine(maximum: 1)
        _ = machine.request(request(1), now: start)
        _ = machine.connected(member(1), now: start, jitter: 0)
        _ = machine.request(request(2), now: start)
        let actions = machine.release(member(1), isUsable: false, now: start)
        #expect(actions.close == [member(1)])
        #expect(actions.grants == [request(2): .connect(member(2))])
    }

    @Test func anOldConnectionIsReplaced() {
        var machine = machine(maximum: 1)
        _ = machine.request(request(1), now: start)
        _ = machine.connected(member(1), now: start, jitter: 1)
        let step10 = machine.release(member(1), isUsable: true, now: at(10))
        #expect(step10 == Machine.Actions())
        // Full jitter takes a tenth off the age.
        let (answer, actions) = machine.request(request(2), now: at(901))
        #expect(answer == .granted(.connect(member(2))))
        #expect(actions.close == [member(1)])
    }

    @Test func backsOffAfterFailuresAndLetsOneTry() {
        var machine = machine(maximum: 3)
        _ = machine.request(request(1), now: start)
        _ = machine.connectingFailed(member(1), mayRetry: true, now: start, jitter: 1)
        let again = machine.requestAgain(request(1), now: start)
        #expect(again.answer == .wait && again.actions.tickAt == at(2))
        let step11 = machine.request(request(2), now: at(1))
        #expect(step11.answer == .wait)
        let step12 = machine.tick(now: at(1))
        #expect(step12.grants.isEmpty)
        let step13 = machine.tick(now: at(2))
        #expect(step13.grants == [request(1): .connect(member(2))])
        // The second failure waits twice as long; jitter 0 takes half off.
        _ = machine.connectingFailed(member(2), mayRetry: true, now: at(2), jitter: 0)
        let step14 = machine.tick(now: at(3))
        #expect(step14.tickAt == at(4))
        let step15 = machine.tick(now: at(4))
        #expect(step15.grants == [request(2): .connect(member(3))])
        // Back again: all who wait may connect.
        _ = machine.request(request(3), now: at(4))
        let step16 = machine.connected(member(3), now: at(4), jitter: 0)
        #expect(step16.grants == [request(3): .connect(member(4))])
    }

    @Test func aHopelessFailureDoesNotBackOff() {
        var machine = machine()
        _ = machine.request(request(1), now: start)
        _ = machine.connectingFailed(member(1), mayRetry: false, now: start, jitter: 1)
        let step17 = machine.request(request(2), now: start)
        #expect(step17.answer == .granted(.connect(member(2))))
    }

    @Test func closingEndsEverything() {
        var machine = machine(maximum: 2)
        _ = machine.request(request(1), now: start)
        _ = machine.request(request(2), now: start)
        _ = machine.connected(member(1), now: start, jitter: 0)
        _ = machine.connected(member(2), now: start, jitter: 0)
        _ = machine.release(member(1), isUsable: true, now: start)
        let actions = machine.close()
        #expect(actions.close == [member(1)])
        let step18 = machine.request(request(3), now: start)
        #expect(step18.answer == .granted(.closed))
        let step19 = machine.release(member(2), isUsable: true, now: start)
        #expect(step19.close == [member(2)])
    }
}
