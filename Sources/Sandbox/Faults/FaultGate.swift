import Waiting

/// Holds a request back until a test lets it go, so that a test can act in the middle of a step without sleeping.
package final class FaultGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        /// The tickets of requests that wait until the gate is open.
        var held: Set<Int> = []
        /// The tickets of those that wait for so many arrivals.
        var watchers: [Int: Int] = [:]
    }

    private let room = WaitingRoom<State, Void>(State())

    package init() {}

    /// How many requests have arrived at the gate so far.
    package var arrivals: Int { room.withState { $0.arrivals } }

    /// Returns when `count` requests have arrived at the gate, or when the calling task is cancelled.
    package func reached(_ count: Int = 1) async {
        await room.wait { state, ticket in
            guard state.arrivals < count else { return [(ticket, ())] }
            state.watchers[ticket] = count
            return []
        } leaving: { state, ticket in
            state.watchers[ticket] = nil
        }
    }

    /// Lets every held request go and holds none from here on.
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
