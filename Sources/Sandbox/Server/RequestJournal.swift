import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The requests to the simulated services and their answers, in order; the oldest half is dropped when it grows too
/// long.
package final class RequestJournal: Sendable {
    /// One request, without any token, code or key.
    package struct Entry: Sendable, Codable {
        let endpoint: Endpoint
        let time: Date
        /// The client id of a request to Apple, or the bucket of one to Storage.
        let subject: String?
        /// The HTTP status sent; nil if the connection was dropped.
        package let status: Int?
        /// The reason for a refusal, which the real services do not reveal.
        package let reason: String?
        /// Whether a fault changed the answer.
        package let faulted: Bool
        /// The `User-Agent` header of the request.
        let userAgent: String?
    }

    /// More than any test or demonstration needs, and small enough to keep in memory.
    private static let longest = 200_000

    private let storage = Mutex<[Entry]>([])

    init() {}

    /// All entries so far, oldest first.
    package var entries: [Entry] { storage.withLock { $0 } }

    /// The entries of one endpoint, oldest first.
    package func entries(_ endpoint: Endpoint) -> [Entry] {
        storage.withLock { $0.filter { $0.endpoint == endpoint } }
    }

    /// The number of requests to one endpoint.
    package func count(_ endpoint: Endpoint) -> Int {
        storage.withLock { $0.count { $0.endpoint == endpoint } }
    }

    /// Removes all entries.
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
