@testable import AccountLifecycle
import Synchronization
import Testing

@Suite struct CoalescerTests {
    /// Work that waits until it is let go, and remembers what it was given.
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

        func open() {
            let waiting = state.withLock { state in
                state.open = true
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
            while gate.batches.isEmpty { await Task.yield() }
            for item in 2...50 { group.addTask { try await coalescer.answer(for: item) } }
            while coalescer.waiting < 49 { await Task.yield() }
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
            for item in 1...35 { group.addTask { try await coalescer.answer(for: item) } }
            while coalescer.waiting < 34 { await Task.yield() }
            gate.open()
            for try await _ in group {}
        }
        #expect(gate.batches.flatMap(\.self).sorted() == Array(1...35))
        #expect(gate.batches.allSatisfy { $0.count <= 10 })
    }

    @Test func aCancelledLeaderCostsTheOthersNothing() async throws {
        let gate = Gate()
        let coalescer = Coalescer<Int, Int>(limit: 100) { try await gate.work($0) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            let leader = Task { try await coalescer.answer(for: 1) }
            while gate.batches.isEmpty { await Task.yield() }
            for item in 2...5 { group.addTask { try await coalescer.answer(for: item) } }
            while coalescer.waiting < 4 { await Task.yield() }
            leader.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await leader.value }
            let answers = try await group.reduce(into: []) { $0.append($1) }
            #expect(answers.sorted() == [20, 30, 40, 50])
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
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: Broken.self) { try await coalescer.answer(for: 1) } }
            while gate.batches.isEmpty { await Task.yield() }
            group.addTask { await #expect(throws: Never.self) { try await coalescer.answer(for: 2) } }
            while coalescer.waiting < 1 { await Task.yield() }
            gate.open()
        }
    }
}
