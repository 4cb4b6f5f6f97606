import Sealing
import Synchronization

/// The key that the acts of one run are hashed with, until it was looked at in their database.
final class ActingKey: Sendable {
    private let unseen = Mutex<HashKey?>(nil)

    /// Has a key looked at as soon as there is a connection.
    func set(_ key: HashKey) { unseen.withLock { $0 = key } }

    /// The key that nobody has looked at yet; it is handed out once.
    func take() -> HashKey? {
        unseen.withLock { unseen in
            defer { unseen = nil }
            return unseen
        }
    }
}
