import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What was asked of the pretended services and how they answered, in order; the oldest half goes when it grows too
/// long.
package final class RequestJournal: Sendable {
    /// One request; holds no token, code or key.
    package struct Entry: Sendable, Codable {
        let endpoint: Endpoint
        let time: Date
        /// The client id of a request to Apple, the bucket of one to Storage.
        let subject: String?
        /// The HTTP status sent, or nil when the connection was dropped instead.
        package let status: Int?
        /// Why the service refused, which the real ones do not say.
        package let reason: String?
        /// Whether a fault shaped the answer.
        package let faulted: Bool
        /// The `User-Agent` header of the request.
        let userAgent: String?
    }

    /// More than any test or demonstration asks, and little enough to keep in memory.
    private static let longest = 200_000

    private let storage = Mutex<[Entry]>([])

    init() {}

    /// All entries so far, oldest first.
    package var entries: [Entry] { storage.withLock { $0 } }

    /// The entries of one endpoint, oldest first.
    package func entries(_ endpoint: Endpoint) -> [Entry] {
        storage.withLock { $0.filter { $0.endpoint == endpoint } }
    }

    /// How often one endpoint was asked.
    package func count(_ endpoint: Endpoint) -> Int {
        storage.withLock { $0.count { $0.endpoint == endpoint } }
    }

    /// Forgets what was noted so far.
    func clear() {
        storage.withLock { $0.removeAll() }
    }

    func append(_ entry: Entry) {
        storage.withLock { entries in
            if entries.count >= Self.longest { entries.removeFirst(Self.longest / 2) }
            entries.append(entry)
        }
    }
}
