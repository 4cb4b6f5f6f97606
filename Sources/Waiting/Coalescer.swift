/// Serves many callers with one piece of work: callers that arrive while it runs wait for the next one, which serves
/// all of them together.
///
/// It is for work that costs hardly more for a hundred items than for one, such as a pass over a whole table. The work
/// runs in a task of its own: a caller that is cancelled, or out of time, leaves at once, and the others still get
/// their answers. The last one to leave cancels the work and waits for its end, so that no work runs without a caller.
/// While many callers come, the work pauses between two pieces for longer than one takes: callers that arrive meanwhile
/// are served together, and most of the time the server is free for everything else.
package final class Coalescer<Item: Sendable, Answer: Sendable>: Sendable {
    private enum Reply: Sendable {
        case answer(Result<Answer, any Error>)
        /// The caller was cancelled; with the work if it was the last to wait for it.
        case left(Task<Void, Never>?)
    }

    private struct State {
        /// The items of callers whose work has not begun, by ticket.
        var waiting: [Int: Item] = [:]
        /// The tickets of the callers that the current work serves.
        var served: Set<Int> = []
        /// The task that works, or rests before it does.
        var task: Task<Void, Never>?
        /// Until when no work begins, so that more callers can join.
        var restsUntil: ContinuousClock.Instant?

        mutating func leave(_ ticket: Int) -> Reply {
            guard waiting.removeValue(forKey: ticket) == nil, served.remove(ticket) != nil else { return .left(nil) }
            return .left(served.isEmpty ? task : nil)
        }
    }

    /// The longest rest.
    private static var longestRest: Duration { .seconds(10) }

    private let room = WaitingRoom<State, Reply>(State())
    private let limit: Int
    private let rest: Double
    private let work: @Sendable ([Item]) async throws -> [Answer]

    /// How many callers wait for a piece of work that has not begun.
    package var waitingCount: Int { room.withState { $0.waiting.count } }

    /// - Parameters:
    ///   - limit: How many items one piece of work takes at most.
    ///   - rest: How long to rest after a piece of work for several callers, as a multiple of its duration.
    ///   - work: Does the work for all items and answers in their order.
    package init(limit: Int, rest: Double = 2, work: @escaping @Sendable ([Item]) async throws -> [Answer]) {
        self.limit = limit
        self.rest = rest
        self.work = work
    }

    /// Waits for the answer to an item.
    ///
    /// - Throws: what the work throws; `CancellationError` if the caller's task is cancelled, which does not affect the
    ///   others.
    package func answer(for item: Item) async throws -> Answer {
        let reply = await room.wait { state, ticket in
            state.waiting[ticket] = item
            begin(&state)
            return []
        } leaving: { state, ticket in
            state.leave(ticket)
        }
        switch reply {
        case .answer(let result): return try result.get()
        case .left(let work):
            work?.cancel()
            await work?.value
            throw CancellationError()
        }
    }

    private func begin(_ state: inout State) {
        guard state.task == nil, !state.waiting.isEmpty else { return }
        state.task = Task(name: "coalesced work") { await serve() }
    }

    /// Does one piece of work for the waiting callers.
    private func serve() async {
        if let restsUntil = room.withState({ $0.waiting.count < limit ? $0.restsUntil : nil }) {
            try? await Task.sleep(until: restsUntil, clock: .continuous)
        }
        let batch = room.withState { state in
            state.waiting.keys.sorted().prefix(limit).compactMap { ticket -> (ticket: Int, item: Item)? in
                guard let item = state.waiting.removeValue(forKey: ticket) else { return nil }
                state.served.insert(ticket)
                return (ticket, item)
            }
        }
        let start = ContinuousClock.now
        let result: Result<[Answer], any Error>
        do {
            let answers = batch.isEmpty ? [] : try await work(batch.map(\.item))
            precondition(answers.count == batch.count, "one answer for each item")
            result = .success(answers)
        } catch {
            result = .failure(error)
        }
        let end = ContinuousClock.now
        let rest = min((end - start) * rest, Self.longestRest)
        room.answer { state in
            // A single caller need not wait for others.
            state.restsUntil = batch.count > 1 ? end.advanced(by: rest) : nil
            state.task = nil
            state.served = []
            begin(&state)
            return batch.enumerated().map { index, entry in (entry.ticket, .answer(result.map { $0[index] })) }
        }
    }
}
