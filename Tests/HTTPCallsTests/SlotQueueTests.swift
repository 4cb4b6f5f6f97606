import Testing

@testable import HTTPCalls

@Suite struct SlotQueueTests {
    @Test func firstComeFirstServed() {
        var queue = SlotQueue(capacity: 1)
        #expect(queue.takeNow() == true)
        #expect(queue.enqueue(10) == false)
        #expect(queue.enqueue(11) == false)
        #expect(queue.release() == 10)
        #expect(queue.release() == 11)
        #expect(queue.release() == nil)
        #expect(queue.takeNow() == true)
    }

    @Test func whoLeavesGetsNoSlot() {
        var queue = SlotQueue(capacity: 1)
        #expect(queue.takeNow() == true)
        #expect(queue.enqueue(10) == false)
        #expect(queue.enqueue(11) == false)
        #expect(queue.leave(10) == true)
        #expect(queue.leave(10) == false)
        #expect(queue.release() == 11)
    }

    @Test func aGateGivesUpAtTheDeadlineAndKeepsItsSlots() async throws {
        let gate = ConcurrencyGate(capacity: 1)
        #expect(try await gate.acquire(until: .now + .seconds(60)))
        #expect(try await gate.acquire(until: .now + .milliseconds(20)) == false)
        gate.release()
        #expect(try await gate.acquire(until: .now + .seconds(60)))
    }

    @Test func cancelledWaitersHoldNothing() async throws {
        let gate = ConcurrencyGate(capacity: 1)
        #expect(try await gate.acquire(until: .now + .seconds(60)))
        let waiter = Task { try await gate.acquire(until: .now + .seconds(600)) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        gate.release()
        #expect(try await gate.acquire(until: .now + .seconds(60)))
    }

    @Test func neverMoreThanTheCapacity() async throws {
        let gate = ConcurrencyGate(capacity: 3)
        let counter = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let granted = try await gate.acquire(until: .now + .seconds(60))
                    #expect(granted)
                    await counter.enter()
                    await Task.yield()
                    await counter.leave()
                    gate.release()
                }
            }
            try await group.waitForAll()
        }
        #expect(await counter.most <= 3)
        #expect(await counter.most > 1)
    }

    private actor Counter {
        var now = 0
        var most = 0
        func enter() {
            now += 1
            most = max(most, now)
        }
        func leave() { now -= 1 }
    }
}
