import Synchronization

/// Counts how many handlers run at once, by key.
final class RunningMeter: Sendable {
    private struct State {
        var running: [String: Int] = [:]
        var most: [String: Int] = [:]
    }
    private let state = Mutex(State())

    func enter(_ key: String) {
        state.withLock { state in
            state.running[key, default: 0] += 1
            state.most[key] = max(state.most[key] ?? 0, state.running[key] ?? 0)
        }
    }

    func leave(_ key: String) {
        state.withLock { $0.running[key, default: 0] -= 1 }
    }

    var most: [String: Int] { state.withLock { $0.most } }
}
