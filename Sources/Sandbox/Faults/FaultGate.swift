import Waiting

/// Holds a request until a test releases it, so that a test can act in the middle of a step without sleeping.
package final class FaultGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        /// The tickets of requests that wait for the gate to open.
        var held: Set<Int> = []
        /// The tickets of tasks that wait for a number of arrivals, with that number.
        var watchers: [Int: Int] = [:]
    }

    private let room = WaitingRoom<State, Void>(State())

    package init() {}

    /// How many requests have arrived at the gate so far.
    package var arrivals: Int { room.withState { $0.arrivals } }

    /// Waits until `count` requests have arrived at the gate, or the calling task is cancelled.
    package func reached(_ count: Int = 1) async {
        await room.wait { state, ticket in
            guard state.arrivals < count else { return [(ticket, ())] }
            state.watchers[ticket] = count
            return []
        } leaving: { state, ticket in
            state.watchers[ticket] = nil
        }
    }

    /// Releases every held request and holds none from now on.
    package func open() {
        room.answer { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held.map { ($0, ()) }
        }
    }

    /// Waits at the gate until it is open or the calling task is cancelled.
    func pass() async {
        arrive()
        await room.wait { state, ticket in
            guard !state.isOpen else { return [(ticket, ())] }
            state.held.insert(ticket)
            return []
        } leaving: { state, ticket in
            state.held.remove(ticket)
        }
    }

    private func arrive() {
        room.answer { state in
            state.arrivals += 1
            let ready = state.watchers.filter { $0.value <= state.arrivals }.keys
            for ticket in ready { state.watchers[ticket] = nil }
            return ready.map { ($0, ()) }
        }
    }
}
