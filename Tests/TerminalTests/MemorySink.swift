import Synchronization
import Terminal

/// A sink that collects the written text in memory.
final class MemorySink: ByteSink {
    private let collected = Mutex("")

    /// Everything written so far.
    var text: String { collected.withLock { $0 } }

    func write(_ text: String) {
        collected.withLock { $0 += text }
    }
}
