import Waiting

/// Runs one piece of work at a time and gives its result to all callers that wait for it.
///
/// The work runs in the only unstructured task of this module. A cancelled waiter leaves at once, without stopping the
/// work or affecting the other waiters. The work must end by itself, as an HTTP call does at its deadline.
final class SharedFlight<Value: Sendable>: Sendable {
    private struct State {
        var isFlying = false
        var waiting: Set<Int> = []
    }

    /// The waiters, each of which receives the result, or nil if cancelled.
    private let room = WaitingRoom<State, Value?>(State())

    /// The number of callers waiting for the current work.
    var waiterCount: Int { room.waitingCount }

    /// Joins the work in flight, or starts it.
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

    /// Starts the work unless it is in flight, without waiting for it.
    func start(_ work: @escaping @Sendable () async -> Value) {
        room.withState { begin(work, &$0) }
    }

    /// Called under the room's lock, so that no caller joins a flight that has ended.
    private func begin(_ work: @escaping @Sendable () async -> Value, _ state: inout State) {
        guard !state.isFlying else { return }
        state.isFlying = true
        Task(name: "shared flight") { [room] in
            let value = await work()
            // A caller that joins after this line starts a new flight.
            room.answer { state in
                defer { state = State() }
                return state.waiting.map { ($0, value) }
            }
        }
    }
}
