import Synchronization
import TestSupport
import Testing

@testable import Waiting

@Suite(.timeLimit(.minutes(5))) struct CoalescerTests {
    /// Work that waits until the test releases it, and records the values that it was given.
    private final class Gate: Sendable {
        private let state = Mutex<(open: Bool, waiting: [CheckedContinuation<Void, Never>], batches: [[Int]])>(
            (false, [], [])
        )

        var batches: [[Int]] { state.withLock { $0.batches } }

        func work(_ items: [Int]) async throws -> [Int] {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.batches.append(items.sorted())
                    if !state.open { state.waiting.append(continuation) }
                    return state.open
                }
                if isOpen { continuation.resume() }
            }
            try Task.checkCancellation()
            return items.map { $0 * 10 }
        }

        func open(forGood: Bool = true) {
            let waiting = state.withLock { state in
                state.open = forGood
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    @Test func whoComesMeanwhileIsServedTogether() async throws {
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 100) { try await gate.work($0) }
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await coalescer.answer(for: 1) }
            try await eventually("the work has begun") { !gate.batches.isEmpty }
            for item in 2...50 { group.addTask { try await coalescer.answer(for: item) } }
            try await coalescer.untilWaiting(49)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.sorted() == (1...50).map { $0 * 10 })
        #expect(gate.batches == [[1], Array(2...50)])
    }

    @Test func theLimitSplitsABatch() async throws {
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 10) { try await gate.work($0) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await coalescer.answer(for: 1) }
            try await eventually("the work has begun") { !gate.batches.isEmpty }
            for item in 2...35 { group.addTask { try await coalescer.answer(for: item) } }
            try await coalescer.untilWaiting(34)
            gate.open()
            for try await _ in group {}
        }
        #expect(gate.batches.flatMap(\.self).sorted() == Array(1...35))
        #expect(gate.batches.allSatisfy { $0.count <= 10 })
    }

    @Test func whoLeavesCostsTheOthersNothing() async throws {
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 100) { try await gate.work($0) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await coalescer.answer(for: 1) }
            try await eventually("the work has begun") { !gate.batches.isEmpty }
            let first = Task { try await coalescer.answer(for: 2) }
            try await coalescer.untilWaiting(1)
            for item in 3...5 { group.addTask { try await coalescer.answer(for: item) } }
            try await coalescer.untilWaiting(4)
            gate.open(forGood: false)
            try await eventually("the second work has begun") { gate.batches.count >= 2 }
            // Cancelled in the middle of the work for all four: the first caller returns at once, and the same work
            // answers the others.
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            gate.open()
            let answers = try await group.reduce(into: []) { $0.append($1) }
            #expect(answers.sorted() == [10, 30, 40, 50])
            #expect(gate.batches == [[1], [2, 3, 4, 5]])
        }
    }

    @Test func theLastToLeaveEndsTheWorkAndSeesItEnd() async throws {
        let ends = Mutex(0)
        let begun = AsyncStream<Void>.makeStream()
        let coalescer = Coalescer<Int, Int>(limit: 100) { items in
            guard items != [7] else { return items }
            begun.continuation.yield()
            // Only cancellation ends this sleep.
            try? await Task.sleep(for: .seconds(3600))
            ends.withLock { $0 += 1 }
            throw CancellationError()
        }
        let only = Task { try await coalescer.answer(for: 1) }
        for await _ in begun.stream { break }
        let next = Task { try await coalescer.answer(for: 7) }
        try await coalescer.untilWaiting(1)
        only.cancel()
        await #expect(throws: CancellationError.self) { try await only.value }
        #expect(ends.withLock(\.self) == 1)
        #expect(try await next.value == 7)
    }

    @Test func whoLeavesWhileItWaitsIsNotWorkedFor() async throws {
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 100) { try await gate.work($0) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await coalescer.answer(for: 1) }
            try await eventually("the work has begun") { !gate.batches.isEmpty }
            let leaving = Task { try await coalescer.answer(for: 2) }
            try await coalescer.untilWaiting(1)
            leaving.cancel()
            await #expect(throws: CancellationError.self) { try await leaving.value }
            gate.open()
            for try await _ in group {}
            #expect(gate.batches == [[1]])
        }
    }

    @Test func aFailureReachesEverybodyInTheBatchAndNobodyElse() async throws {
        struct Broken: Error {}
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 100) { items in
            let answers = try await gate.work(items)
            if items.contains(1) { throw Broken() }
            return answers
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: Broken.self) { try await coalescer.answer(for: 1) } }
            try await eventually("the work has begun") { !gate.batches.isEmpty }
            group.addTask { await #expect(throws: Never.self) { try await coalescer.answer(for: 2) } }
            try await coalescer.untilWaiting(1)
            gate.open()
        }
    }
}

extension Coalescer {
    /// Returns when this many callers wait.
    fileprivate func untilWaiting(_ count: Int) async throws {
        try await eventually("\(count) callers wait") { waitingCount >= count }
    }
}
