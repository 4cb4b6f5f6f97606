import Synchronization

/// Keeps passes over whole tables, each of which may hold a connection for half an hour, from taking all of a pool.
///
/// Everything else that handlers do needs a connection for a moment. First come, first served.
final class PassPermits: Sendable {
    private struct Waiter {
        let id: UInt64
        let count: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        var next: UInt64 = 0
        var waiting: [Waiter] = []

        /// Takes those whom the free permits serve out of the line.
        mutating func serve() -> [CheckedContinuation<Bool, Never>] {
            var served: [CheckedContinuation<Bool, Never>] = []
            while let first = waiting.first, first.count <= free {
                free -= first.count
                served.append(waiting.removeFirst().continuation)
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
        let count = min(max(1, wanted), total)
        try await take(count)
        defer { giveBack(count) }
        return try await body(count)
    }

    private func take(_ count: Int) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (served, isCancelled) = state.withLock { state in
                    // The handler below may have run before there was anybody to resume.
                    guard !Task.isCancelled else { return ([CheckedContinuation<Bool, Never>](), true) }
                    state.waiting.append(Waiter(id: id, count: count, continuation: continuation))
                    return (state.serve(), false)
                }
                if isCancelled { continuation.resume(returning: false) }
                for continuation in served { continuation.resume(returning: true) }
            }
        } onCancel: {
            let (mine, served) = state.withLock { state in
                let index = state.waiting.firstIndex { $0.id == id }
                let mine = index.map { state.waiting.remove(at: $0).continuation }
                // Whoever stood behind a large wish may be served now.
                return (mine, state.serve())
            }
            mine?.resume(returning: false)
            for continuation in served { continuation.resume(returning: true) }
        }
        guard isGranted else { throw CancellationError() }
    }

    private func giveBack(_ count: Int) {
        let served = state.withLock { state in
            state.free += count
            return state.serve()
        }
        for continuation in served { continuation.resume(returning: true) }
    }
}
