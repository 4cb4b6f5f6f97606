import Synchronization

/// A list of texts to which several tasks add.
package final class Collected: Sendable {
    private let texts = Mutex<[String]>([])

    package init() {}

    package var all: [String] { texts.withLock { $0 } }

    package func add(_ more: [String]) {
        texts.withLock { $0 += more }
    }
}
