import Synchronization
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(1))) struct PassPermitsTests {
    @Test(arguments: [(1, 1), (2, 1), (3, 2), (10, 9)])
    func oneConnectionIsLeft(connections: Int, total: Int) {
        #expect(PassPermits(poolOf: connections).total == total)
    }

    private final class Meter: Sendable {
        private let held = Mutex((now: 0, most: 0))

        func enter(_ count: Int) {
            held.withLock { held in
                held.now += count
                held.most = max(held.most, held.now)
            }
        }

        func leave(_ count: Int) { held.withLock { $0.now -= count } }

        var now: Int { held.withLock { $0.now } }
        var most: Int { held.withLock { $0.most } }
    }

    @Test func neverMoreThanThereAre() async throws {
        let permits = PassPermits(poolOf: 4)
        let meter = Meter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await permits.with(upTo: index % 5) { count in
                        meter.enter(count)
                        await Task.yield()
                        meter.leave(count)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(meter.most == 3)
        #expect(meter.now == 0)
    }

    @Test func aWishBeyondTheTotalGetsTheTotal() async throws {
        let count = try await PassPermits(poolOf: 2).with(upTo: 2) { $0 }
        #expect(count == 1)
    }

    /// Who wants more than is free keeps nobody waiting who wants less.
    @Test func aWishBeyondWhatIsFreeGetsThat() async throws {
        let permits = PassPermits(poolOf: 3)
        let count = try await permits.with { _ in try await permits.with(upTo: 2) { $0 } }
        #expect(count == 1)
    }

    /// Who leaves the line takes nothing along.
    @Test func aCancelledWaiterIsForgotten() async throws {
        let permits = PassPermits(poolOf: 3)
        try await permits.with(upTo: 2) { _ in
            let wide = Task { try await permits.with(upTo: 2) { $0 } }
            while permits.waiting < 1 { await Task.yield() }
            let narrow = Task { try await permits.with { $0 } }
            while permits.waiting < 2 { await Task.yield() }
            wide.cancel()
            await #expect(throws: CancellationError.self) { try await wide.value }
            #expect(permits.waiting == 1)
            narrow.cancel()
            await #expect(throws: CancellationError.self) { try await narrow.value }
        }
        let count = try await permits.with(upTo: 2) { $0 }
        #expect(count == 2)
    }
}
