import Synchronization

/// Tells the first time from all others, whoever asks.
final class FirstTime: Sendable {
    private let isOver = Mutex(false)

    /// Whether nobody has asked before.
    func isNow() -> Bool {
        isOver.withLock { isOver in
            defer { isOver = true }
            return !isOver
        }
    }
}
