import Synchronization

/// Keeps passes over whole tables, each of which may hold a connection for half an hour, from taking all of a pool.
///
/// Everything else that handlers do needs a connection for a moment. First come, first served.
final class PassPermits: Sendable {
    private struct Waiter {
        let id: UInt64
        let count: Int
        /// Given how many it has, nil when it is cancelled.
        let continuation: CheckedContinuation<Int?, Never>
    }

    private struct State {
        var free: Int
        var next: UInt64 = 0
        var waiting: [Waiter] = []

        /// Takes those whom the free permits serve out of the line, with how many each gets.
        ///
        /// What is free, though it wants more: behind one that waits for two all others would wait for whoever holds
        /// the other.
        mutating func serve() -> [(CheckedContinuation<Int?, Never>, Int)] {
            var served: [(CheckedContinuation<Int?, Never>, Int)] = []
            while free > 0, !waiting.isEmpty {
                let first = waiting.removeFirst()
                let count = min(first.count, free)
                free -= count
                served.append((first.continuation, count))
            }
            return served
        }
    }

    /// How many connections passes may hold at once.
    let total: Int
    private let state: Mutex<State>

    /// How many callers wait.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Permits for passes over a pool of so many connections: all but one, and one at least.
    init(poolOf connections: Int) {
        total = max(1, connections - 1)
        state = Mutex(State(free: total))
    }

    /// Holds up to `wanted` permits while `body` runs, which learns how many.
    ///
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled while it waits.
    func with<Result: Sendable>(
        upTo wanted: Int = 1,
        _ body: @Sendable (Int) async throws -> Result
    ) async throws -> Result {
        let count = try await take(min(max(1, wanted), total))
        defer { giveBack(count) }
        return try await body(count)
    }

    private func take(_ count: Int) async throws -> Int {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        let granted: Int? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (served, isCancelled) = state.withLock { state in
                    // The handler below may have run before there was anybody to resume.
                    guard !Task.isCancelled else { return ([(CheckedContinuation<Int?, Never>, Int)](), true) }
                    state.waiting.append(Waiter(id: id, count: count, continuation: continuation))
                    return (state.serve(), false)
                }
                if isCancelled { continuation.resume(returning: nil) }
                for (continuation, count) in served { continuation.resume(returning: count) }
            }
        } onCancel: {
            let mine = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            mine?.resume(returning: nil)
        }
        guard let granted else { throw CancellationError() }
        return granted
    }

    private func giveBack(_ count: Int) {
        let served = state.withLock { state in
            state.free += count
            return state.serve()
        }
        for (continuation, count) in served { continuation.resume(returning: count) }
    }
}
