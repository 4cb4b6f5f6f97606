import Synchronization

/// Serves many callers with one piece of work: whoever comes while it is under way waits for the next, which serves all of
/// them together.
///
/// Some tables cannot be indexed by us, so that looking for one account's rows costs a pass over the whole table, and looking
/// for a hundred accounts' rows costs hardly more. No task is started for the work: one of the waiting callers does it, and
/// hands over when its own answer is there. While many come, the work rests between two pieces for longer than one takes: those
/// who come meanwhile are served together, and the passes leave most of the server to everything else.
final class Coalescer<Item: Sendable, Answer: Sendable>: Sendable {
    private enum Wake: Sendable {
        case answer(Result<Answer, any Error>)
        case lead
        case cancelled
    }

    private struct Waiter {
        let item: Item
        var wake: CheckedContinuation<Wake, Never>?
    }

    private struct State {
        var isLed = false
        var next: UInt64 = 0
        var waiting: [UInt64: Waiter] = [:]
        /// Until when nobody begins, so that more can come together.
        var restsUntil: ContinuousClock.Instant?
    }

    /// How long to rest after a piece of work for several, as a multiple of the time it took, and at most.
    private static var rest: (factor: Double, limit: Duration) { (2, .seconds(10)) }

    private let state = Mutex(State())
    private let limit: Int
    private let work: @Sendable ([Item]) async throws -> [Answer]

    /// - Parameters:
    ///   - limit: How many items one piece of work takes at most.
    ///   - work: Does the work for all items and answers in their order.
    init(limit: Int, work: @escaping @Sendable ([Item]) async throws -> [Answer]) {
        self.limit = limit
        self.work = work
    }

    /// How many callers wait for a piece of work that has not begun.
    var waiting: Int { state.withLock { $0.waiting.values.filter { $0.wake != nil }.count } }

    /// Waits for the answer to an item.
    ///
    /// - Throws: what the work throws; `CancellationError` when the caller's task is cancelled, of which the others notice nothing.
    func answer(for item: Item) async throws -> Answer {
        let id = state.withLock { state in
            state.next += 1
            state.waiting[state.next] = Waiter(item: item)
            return state.next
        }
        while true {
            switch await turn(of: id) {
            case .answer(let result): return try result.get()
            case .cancelled: throw CancellationError()
            case .lead:
                if let answer = try await lead(with: id) { return answer }
            }
        }
    }

    /// Waits until the item is answered or its caller is to lead.
    private func turn(of id: UInt64) async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wake = state.withLock { state -> Wake? in
                    // The handler below may have run before there was a continuation to resume.
                    if Task.isCancelled {
                        state.waiting[id] = nil
                        return .cancelled
                    }
                    if !state.isLed {
                        state.isLed = true
                        return .lead
                    }
                    state.waiting[id]?.wake = continuation
                    return nil
                }
                if let wake { continuation.resume(returning: wake) }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Wake, Never>? in
                guard let continuation = state.waiting[id]?.wake else { return nil }
                state.waiting[id] = nil
                return continuation
            }
            continuation?.resume(returning: .cancelled)
        }
    }

    /// Does one piece of work for the caller and whoever waits.
    private func lead(with id: UInt64) async throws -> Answer? {
        // A leader who is cancelled meanwhile begins at once, and the work says so.
        if let restsUntil = state.withLock({ $0.waiting.count < limit ? $0.restsUntil : nil }) {
            try? await Task.sleep(until: restsUntil, clock: .continuous)
        }
        let start = ContinuousClock.now
        let batch = state.withLock { state -> [(id: UInt64, waiter: Waiter)] in
            // One without a continuation has not begun to wait: taken along, it would never hear of its answer.
            let others = state.waiting.filter { $0.key != id && $0.value.wake != nil }.keys.sorted().prefix(limit - 1)
            let batch = ([id] + others).compactMap { id in state.waiting[id].map { (id: id, waiter: $0) } }
            for entry in batch { state.waiting[entry.id] = nil }
            return batch
        }
        let result: Result<[Answer], any Error>
        do {
            result = .success(try await work(batch.map(\.waiter.item)))
        } catch {
            result = .failure(error)
        }
        let isCancelled = Task.isCancelled
        let end = ContinuousClock.now
        let rest = min((end - start) * Self.rest.factor, Self.rest.limit)
        let resumed = state.withLock { state -> [(CheckedContinuation<Wake, Never>, Wake)] in
            var resumed: [(CheckedContinuation<Wake, Never>, Wake)] = []
            // Somebody alone need not wait for company.
            state.restsUntil = batch.count > 1 ? end.advanced(by: rest) : nil
            for (index, entry) in batch.enumerated() where entry.id != id {
                switch result {
                case .success(let answers):
                    if let wake = entry.waiter.wake { resumed.append((wake, .answer(.success(answers[index])))) }
                case .failure(let error):
                    // That the leader was cancelled is no answer for the others: they go back into the line.
                    if isCancelled {
                        state.waiting[entry.id] = entry.waiter
                    } else if let wake = entry.waiter.wake {
                        resumed.append((wake, .answer(.failure(error))))
                    }
                }
            }
            if let next = state.waiting.filter({ $0.value.wake != nil }).keys.min(),
                let wake = state.waiting[next]?.wake
            {
                state.waiting[next]?.wake = nil
                resumed.append((wake, .lead))
            } else {
                state.isLed = false
            }
            return resumed
        }
        for (continuation, wake) in resumed { continuation.resume(returning: wake) }
        return try result.get().first
    }
}
