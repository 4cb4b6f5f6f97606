import Synchronization

/// Texts that several tasks add to.
final class Collected: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ more: [String]) {
        texts.withLock { $0 += more }
    }
}
