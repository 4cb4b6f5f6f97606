import Synchronization
import TestSupport
import Testing

@testable import HTTPCalls

@Suite(.timeLimit(.minutes(3))) struct ConcurrencyGateTests {
    /// The most that were inside at the same time.
    private final class Census: Sendable {
        private let state = Mutex((inside: 0, most: 0, entered: 0))

        var most: Int { state.withLock(\.most) }
        var entered: Int { state.withLock(\.entered) }

        func enter() {
            state.withLock { state in
                state.inside += 1
                state.entered += 1
                state.most = max(state.most, state.inside)
            }
        }

        func leave() { state.withLock { $0.inside -= 1 } }
    }

    @Test func letsAllInAndNeverMoreThanThereAreSlots() async throws {
        let gate = ConcurrencyGate(capacity: 3)
        let census = Census()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try await gate.withSlot {
                        census.enter()
                        for _ in 0..<5 { await Task.yield() }
                        census.leave()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(census.entered == 200)
        #expect(census.most <= 3)
    }

    @Test func whoeverIsCancelledInLineLeavesItAndHoldsNoSlot() async throws {
        let gate = ConcurrencyGate(capacity: 1)
        let census = Census()
        try await gate.withSlot {
            let waiting = Task { try await gate.withSlot { census.enter() } }
            try await eventually("the task stands in line") { gate.waitingCount == 1 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        #expect(census.entered == 0)
        try await gate.withSlot { census.enter() }
        #expect(census.entered == 1)
    }

    @Test func anErrorGivesTheSlotBack() async throws {
        struct Refused: Error {}
        let gate = ConcurrencyGate(capacity: 1)
        await #expect(throws: Refused.self) { try await gate.withSlot { throw Refused() } }
        let isThere = try await gate.withSlot { true }
        #expect(isThere)
    }
}
