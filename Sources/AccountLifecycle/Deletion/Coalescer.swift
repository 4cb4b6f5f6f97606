import Synchronization

/// Serves many callers with one piece of work: whoever comes while it is under way waits for the next, which serves all
/// of them together.
///
/// Some tables cannot be indexed by us, so that looking for one account's rows costs a pass over the whole table, and
/// looking for a hundred accounts' rows costs hardly more. The work runs in a task of its own and belongs to none of
/// the callers: one that is cancelled, or out of time, leaves at once, and the others get their answer all the same.
/// The last one to leave cancels the work and sees it end, so that nothing goes on that nobody waits for. While many
/// come, the work rests between two pieces for longer than one takes: those who come meanwhile are served together, and
/// the passes leave most of the server to everything else.
final class Coalescer<Item: Sendable, Answer: Sendable>: Sendable {
    private enum Reply: Sendable {
        case answer(Result<Answer, any Error>)
        /// Cancelled; with the work whose end is to be awaited.
        case left(Task<Void, Never>?)
    }

    private struct Waiter {
        let item: Item
        let continuation: CheckedContinuation<Reply, Never>
    }

    private struct State {
        var next: UInt64 = 0
        /// Those for whom no work has begun.
        var waiting: [UInt64: Waiter] = [:]
        /// Those whom the work under way is for.
        var served: [UInt64: CheckedContinuation<Reply, Never>] = [:]
        /// Works, or rests before it does.
        var task: Task<Void, Never>?
        /// Until when nobody begins, so that more can come together.
        var restsUntil: ContinuousClock.Instant?
    }

    /// How long to rest at most.
    private static var longestRest: Duration { .seconds(10) }

    private let state = Mutex(State())
    private let limit: Int
    private let rest: Double
    private let work: @Sendable ([Item]) async throws -> [Answer]

    /// How many wait for a piece of work that has not begun.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Parameters:
    ///   - limit: How many items one piece of work takes at most.
    ///   - rest: How long to rest after a piece of work for several, as a multiple of the time it took.
    ///   - work: Does the work for all items and answers in their order.
    init(limit: Int, rest: Double = 2, work: @escaping @Sendable ([Item]) async throws -> [Answer]) {
        self.limit = limit
        self.rest = rest
        self.work = work
    }

    /// Waits for the answer to an item.
    ///
    /// - Throws: what the work throws; `CancellationError` when the caller's task is cancelled, of which the others
    ///   notice nothing.
    func answer(for item: Item) async throws -> Answer {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        let reply = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    // The handler below may have run before there was anybody to resume.
                    guard !Task.isCancelled else { return true }
                    state.waiting[id] = Waiter(item: item, continuation: continuation)
                    begin(&state)
                    return false
                }
                if isCancelled { continuation.resume(returning: .left(nil)) }
            }
        } onCancel: {
            leave(id)
        }
        switch reply {
        case .answer(let result): return try result.get()
        case .left(let work):
            await work?.value
            throw CancellationError()
        }
    }

    private func leave(_ id: UInt64) {
        let (continuation, abandoned) = state.withLock { state in
            if let waiter = state.waiting.removeValue(forKey: id) {
                return (Optional(waiter.continuation), Task<Void, Never>?.none)
            }
            let continuation = state.served.removeValue(forKey: id)
            return (continuation, continuation != nil && state.served.isEmpty ? state.task : nil)
        }
        abandoned?.cancel()
        continuation?.resume(returning: .left(abandoned))
    }

    private func begin(_ state: inout State) {
        guard state.task == nil, !state.waiting.isEmpty else { return }
        state.task = Task(name: "coalesced work") { await serve() }
    }

    /// Does one piece of work for those who wait.
    private func serve() async {
        if let restsUntil = state.withLock({ $0.waiting.count < limit ? $0.restsUntil : nil }) {
            try? await Task.sleep(until: restsUntil, clock: .continuous)
        }
        let batch = state.withLock { state in
            state.waiting.keys.sorted().prefix(limit).compactMap { id -> (id: UInt64, item: Item)? in
                guard let waiter = state.waiting.removeValue(forKey: id) else { return nil }
                state.served[id] = waiter.continuation
                return (id, waiter.item)
            }
        }
        let start = ContinuousClock.now
        let result: Result<[Answer], any Error>
        do {
            result = .success(batch.isEmpty ? [] : try await work(batch.map(\.item)))
        } catch {
            result = .failure(error)
        }
        let end = ContinuousClock.now
        let rest = min((end - start) * rest, Self.longestRest)
        let served = state.withLock { state in
            // Somebody alone need not wait for company.
            state.restsUntil = batch.count > 1 ? end.advanced(by: rest) : nil
            state.task = nil
            begin(&state)
            defer { state.served = [:] }
            return state.served
        }
        for (index, entry) in batch.enumerated() {
            served[entry.id]?.resume(returning: .answer(result.map { $0[index] }))
        }
    }
}
