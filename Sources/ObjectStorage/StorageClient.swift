package import HTTPCalls
import Waiting

/// Supabase Storage's REST API, as far as erasing an account needs it.
///
/// Outcomes are values; a call throws only `CancellationError`, when its task is cancelled. One that deletes is sent
/// again only where nothing was sent: its keys may be somebody else's by then.
package struct StorageClient: Sendable {
    /// The most objects in one delete call: the service works in transactions of this size, so that a larger call can be
    /// half done.
    package static let largestBatch = 500

    let address: ServiceAddress
    let key: StorageKey
    let caller: HTTPCaller
    private let line: Permits
    /// When one call has ended, repeats included.
    package let deadline: Duration

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - address: The service's base, `https://<ref>.supabase.co/storage/v1`.
    ///   - key: A key that may delete.
    ///   - caller: What sends.
    ///   - deadline: When one call must have ended, repeats included.
    package init(address: ServiceAddress, key: StorageKey, caller: HTTPCaller, deadline: Duration = .seconds(60)) {
        self.address = address
        self.key = key
        self.caller = caller
        line = Permits(total: caller.callsPerHost)
        self.deadline = deadline
    }

    /// Waits until a call could be sent at once, and has `body` make it, whose deadline does not run while others have
    /// their turn.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the task is cancelled while it waits.
    package func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await line.with { _ in try await body() }
    }

    /// Lists the objects below a folder, all levels, a page at a time.
    ///
    /// Uses the newer listing, and the older one where the server has no other.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - folder: A folder, with or without a slash at its end; empty for the whole bucket.
    ///   - cursor: Where to begin; nil at the start.
    ///   - limit: The most objects in a page, up to 1000.
    /// - Returns: A page. Gone is a bucket that does not exist.
    /// - Throws: `CancellationError`.
    package func list(
        bucket: String,
        folder: String,
        from cursor: StorageListing.Cursor? = nil,
        limit: Int = 1000
    ) async throws(CancellationError) -> StorageOutcome<StorageListing> {
        let limit = min(max(limit, 1), 1000)
        let prefix = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
        switch cursor?.place {
        case .folders(let folders, let offset):
            return try await listOneLevel(bucket: bucket, folders: folders, offset: offset, limit: limit)
        case .mark(let mark):
            return Self.listing(try await recursiveListing(bucket, prefix: prefix, mark: mark, limit: limit))
        case nil:
            let answer = try await recursiveListing(bucket, prefix: prefix, mark: nil, limit: limit)
            if case .unknownRoute = answer {
                return try await listOneLevel(bucket: bucket, folders: [prefix], offset: 0, limit: limit)
            }
            return Self.listing(answer)
        }
    }

    /// Deletes objects by their exact keys, and by their versions where the bucket keeps these.
    ///
    /// - Parameters:
    ///   - targets: 1 to ``largestBatch`` objects.
    ///   - bucket: The bucket's id.
    /// - Returns: Which keys the service named as deleted. Confirm in the database what it did not name.
    /// - Throws: `CancellationError`.
    package func delete(
        _ targets: [StorageTarget],
        in bucket: String
    ) async throws(CancellationError) -> StorageOutcome<StorageDeletion> {
        precondition((1...Self.largestBatch).contains(targets.count), "delete 1 to \(Self.largestBatch) at a time")
        struct Request: Encodable { let prefixes: [StorageTarget] }
        struct Row: Decodable { let name: String }
        let keys = targets.map(\.key)
        let answer = try await send(
            "storage.delete-many",
            .delete,
            "/object/\(PercentEncoding.component(bucket))",
            json: Request(prefixes: targets)
        )
        // The service answers once all is deleted, with whole rows, which people may make as long as they like: an
        // answer that is too long to be read is a success.
        if answer == .longSuccess { return .done(StorageDeletion(requested: keys, named: [])) }
        return answer.outcome { body in
            Self.decode([Row].self, body).map { StorageDeletion(requested: keys, named: $0.map(\.name)) }
        }
    }

    /// Lists the buckets; also the cheapest way to learn whether address and key are good.
    ///
    /// - Returns: The buckets.
    /// - Throws: `CancellationError`.
    package func buckets() async throws(CancellationError) -> StorageOutcome<[StorageBucket]> {
        try await send("storage.buckets", .get, "/bucket").outcome { Self.decode([StorageBucket].self, $0) }
    }
}
