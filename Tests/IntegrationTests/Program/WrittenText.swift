import Synchronization
import Terminal

/// A sink that collects what a part of the program writes in this process.
final class WrittenText: ByteSink {
    private let collected = Mutex("")

    /// Everything written so far.
    var text: String { collected.withLock { $0 } }

    func write(_ text: String) {
        collected.withLock { $0 += text }
    }
}
