import Sealing
import Synchronization

/// The key that the acts of one run are hashed with, until it was looked at in their database.
final class ActingKey: Sendable {
    /// A key, and what an act does with it.
    struct Use: Sendable {
        let key: HashKey
        /// Whether the act makes a key known that is new beside others; any other act is refused with such a one.
        let makesKnown: Bool
    }

    private let unseen = Mutex<Use?>(nil)

    /// Has a key looked at as soon as there is a connection.
    func set(_ use: Use) { unseen.withLock { $0 = use } }

    /// The key that nobody has looked at yet; it is handed out once.
    func take() -> Use? {
        unseen.withLock { unseen in
            defer { unseen = nil }
            return unseen
        }
    }
}
