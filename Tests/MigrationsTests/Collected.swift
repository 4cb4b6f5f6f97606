import Synchronization

/// A list of texts to which several tasks add.
final class Collected: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ more: [String]) {
        texts.withLock { $0 += more }
    }
}
