import Sealing
import Synchronization

/// The hash key for the acts of one run, kept until the first connection has checked it against the database.
final class ActingKey: Sendable {
    private let unseen = Mutex<HashKey?>(nil)

    /// Stores a key to be checked as soon as there is a connection.
    func set(_ key: HashKey) { unseen.withLock { $0 = key } }

    /// Returns the unchecked key, once only.
    func take() -> HashKey? {
        unseen.withLock { unseen in
            defer { unseen = nil }
            return unseen
        }
    }
}
