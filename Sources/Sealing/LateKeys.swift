import Synchronization

/// The keys that came into a file since a ring was read from it.
///
/// They open and never seal: whether a key is what others know by its name is looked at when a process starts.
final class LateKeys: Sendable {
    private struct State {
        var ring: KeyRing?
        var notBefore: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let interval: Duration
    private let read: @Sendable () -> KeyRing?

    init(every interval: Duration, _ read: @escaping @Sendable () -> KeyRing?) {
        self.interval = interval
        self.read = read
    }

    /// The key as it was found when the file was last looked at.
    func known(_ id: KeyID) -> SealingKey? {
        state.withLock { $0.ring?.key(named: id) }
    }

    /// The key as it stands in the file now, or stood there a moment ago.
    func current(_ id: KeyID) -> SealingKey? {
        state.withLock { state in
            let now = ContinuousClock.now
            if state.notBefore.map({ $0 <= now }) ?? true {
                state.notBefore = now.advanced(by: interval)
                state.ring = read() ?? state.ring
            }
            return state.ring?.key(named: id)
        }
    }
}
