import Synchronization

/// Holds a request back until a test lets it go, so that a test can act in the middle of a step without sleeping.
package final class FaultGate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var nextWaiter = 0
        var held: [Int: CheckedContinuation<Void, Never>] = [:]
        var watchers: [Int: (arrivals: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// How many requests have arrived at the gate so far.
    package var arrivals: Int { state.withLock { $0.arrivals } }

    /// Returns when `count` requests have arrived at the gate, or when the calling task is cancelled.
    package func reached(_ count: Int = 1) async {
        let id = ticket()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The cancellation handler may have run already: looked at under the lock, or the wait would never end.
                let resumesNow = state.withLock { state in
                    guard state.arrivals < count, !Task.isCancelled else { return true }
                    state.watchers[id] = (count, continuation)
                    return false
                }
                if resumesNow { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.watchers.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    /// Lets every held request go and holds none from here on.
    package func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [:] }
            return Array(state.held.values)
        }
        for continuation in held { continuation.resume() }
    }

    /// Waits at the gate until it is open or the calling task is cancelled.
    func pass() async {
        let id = ticket()
        arrive()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let passes = state.withLock { state in
                    guard !state.isOpen, !Task.isCancelled else { return true }
                    state.held[id] = continuation
                    return false
                }
                if passes { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.held.removeValue(forKey: id) }?.resume()
        }
    }

    private func arrive() {
        let ready = state.withLock { state in
            state.arrivals += 1
            let arrivals = state.arrivals
            let ready = state.watchers.filter { $0.value.arrivals <= arrivals }
            for id in ready.keys { state.watchers[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    private func ticket() -> Int {
        state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
    }
}
