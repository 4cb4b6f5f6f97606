import Synchronization
import TestSupport
import Testing

@testable import Waiting

@Suite(.timeLimit(.minutes(5))) struct PermitsTests {
    /// Counts the permits that are held, and the most that ever were at once.
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

    @Test(arguments: [(1, 1), (2, 1), (3, 2), (10, 9)]) func oneIsLeft(connections: Int, total: Int) {
        #expect(Permits(leavingOneOf: connections).total == total)
    }

    @Test func neverMoreThanThereAre() async throws {
        let permits = Permits(total: 3)
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
        let count = try await Permits(total: 1).with(upTo: 2) { $0 }
        #expect(count == 1)
    }

    /// A caller that wants more than is free takes what there is, and so does not block callers that want less.
    @Test func aWishBeyondWhatIsFreeGetsThat() async throws {
        let permits = Permits(total: 2)
        let count = try await permits.with { _ in try await permits.with(upTo: 2) { $0 } }
        #expect(count == 1)
    }

    /// A cancelled waiter leaves the line without keeping a permit.
    @Test func aCancelledWaiterIsForgotten() async throws {
        let permits = Permits(total: 2)
        try await permits.with(upTo: 2) { _ in
            let wide = Task { try await permits.with(upTo: 2) { $0 } }
            try await eventually("one waits") { permits.waitingCount >= 1 }
            let narrow = Task { try await permits.with { $0 } }
            try await eventually("two wait") { permits.waitingCount >= 2 }
            wide.cancel()
            await #expect(throws: CancellationError.self) { try await wide.value }
            #expect(permits.waitingCount == 1)
            narrow.cancel()
            await #expect(throws: CancellationError.self) { try await narrow.value }
        }
        let count = try await permits.with(upTo: 2) { $0 }
        #expect(count == 2)
    }

    @Test func whoIsCancelledInLineIsNotLetIn() async throws {
        let permits = Permits(total: 1)
        let meter = Meter()
        try await permits.with { _ in
            let waiting = Task { try await permits.with { meter.enter($0) } }
            try await eventually("one waits") { permits.waitingCount >= 1 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        #expect(meter.most == 0)
    }

    /// A waiter that is cancelled after it was granted a permit, but before it has resumed, gives the permit back.
    ///
    /// The test and the waiter share one actor, so that the waiter cannot resume in between.
    @MainActor @Test func whoIsCancelledAsItIsGrantedGivesBack() async throws {
        let permits = Permits(total: 1)
        var waiting: Task<Void, any Error>?
        try await permits.with { _ in
            waiting = Task { try await permits.with { _ in } }
            try await eventually("one waits") { permits.waitingCount >= 1 }
        }
        #expect(permits.waitingCount == 0)
        waiting?.cancel()
        await #expect(throws: CancellationError.self) { try await waiting?.value }
        #expect(try await permits.with(until: .now + .seconds(5)) { true } == true)
    }

    @Test func anErrorGivesThePermitBack() async throws {
        struct Refused: Error {}
        let permits = Permits(total: 1)
        await #expect(throws: Refused.self) { try await permits.with { _ in throw Refused() } }
        #expect(try await permits.with { $0 } == 1)
    }

    @Test func theWaitEndsAtTheDeadline() async throws {
        let permits = Permits(total: 1)
        try await permits.with { _ in
            let inside = try await permits.with(until: .now + .milliseconds(20)) { true }
            #expect(inside == nil)
            #expect(permits.waitingCount == 0)
        }
        #expect(try await permits.with(until: .now + .seconds(60)) { true } == true)
    }

    /// A permit that is granted at the very moment of a deadline or a cancellation is not lost.
    @Test func noPermitIsLost() async throws {
        let permits = Permits(total: 3)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<1000 {
                let task = Task {
                    if index.isMultiple(of: 2) {
                        try await permits.with(upTo: 2) { _ in await Task.yield() }
                    } else {
                        _ = try await permits.with(until: .now + .microseconds(index)) { await Task.yield() }
                    }
                }
                group.addTask { _ = await task.result }
                if index.isMultiple(of: 3) { group.addTask { task.cancel() } }
            }
        }
        #expect(permits.waitingCount == 0)
        #expect(try await permits.with(upTo: 3) { $0 } == 3)
    }
}
