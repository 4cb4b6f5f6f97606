import Synchronization

/// The keys that were added to the key file after a ring was read from it.
///
/// They open values but never seal: a key is checked against its canary only when a process starts.
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

    /// The key as of the last read of the file.
    func known(_ id: KeyID) -> SealingKey? {
        state.withLock { $0.ring?.key(named: id) }
    }

    /// The key after reading the file again, unless it was read less than the interval ago.
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
