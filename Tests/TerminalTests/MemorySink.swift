import Synchronization
import Terminal

/// Keeps what was written.
final class MemorySink: ByteSink {
    private let collected = Mutex("")

    /// Everything written so far.
    var text: String { collected.withLock { $0 } }

    func write(_ text: String) {
        collected.withLock { $0 += text }
    }
}
