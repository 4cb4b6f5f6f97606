import Waiting

/// One piece of work at a time, whose result everybody who asks meanwhile gets.
///
/// The work runs in a task of its own, the only unstructured one here: a waiter that is cancelled leaves at once, and
/// neither stops the work nor takes the result from the others. The work must end by itself; an HTTP call does, at its
/// deadline.
final class SharedFlight<Value: Sendable>: Sendable {
    private struct State {
        var isFlying = false
        var waiting: Set<Int> = []
    }

    /// A waiter hears the result, or nil when it is cancelled.
    private let room = WaitingRoom<State, Value?>(State())

    /// How many wait for the work under way.
    var waiterCount: Int { room.waitingCount }

    /// Joins the work under way, or starts it.
    ///
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    func join(_ work: @escaping @Sendable () async -> Value) async throws(CancellationError) -> Value {
        let result = await room.wait { state, ticket in
            state.waiting.insert(ticket)
            begin(work, &state)
            return []
        } leaving: { state, ticket in
            state.waiting.remove(ticket)
            return nil
        }
        guard let result else { throw CancellationError() }
        return result
    }

    /// Starts the work unless it is under way, and waits for nothing.
    func start(_ work: @escaping @Sendable () async -> Value) {
        room.withState { begin(work, &$0) }
    }

    /// Under the room's lock, so that nobody joins a flight that has ended.
    private func begin(_ work: @escaping @Sendable () async -> Value, _ state: inout State) {
        guard !state.isFlying else { return }
        state.isFlying = true
        Task(name: "shared flight") { [room] in
            let value = await work()
            // Whoever joins after this line starts a new flight.
            room.answer { state in
                defer { state = State() }
                return state.waiting.map { ($0, value) }
            }
        }
    }
}
