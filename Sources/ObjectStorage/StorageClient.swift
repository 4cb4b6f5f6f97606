package import HTTPCalls
import Waiting

/// The part of Supabase Storage's REST API that erasing an account needs.
///
/// Outcomes are values; a call throws only `CancellationError`, when its task is cancelled. A delete is retried only if
/// no complete request was sent, since its keys may belong to somebody else by then.
package struct StorageClient: Sendable {
    /// The maximum number of objects in one delete call: the service uses transactions of this size, so a larger call
    /// could be half done.
    package static let largestBatch = 500

    let address: ServiceAddress
    let key: StorageKey
    let caller: HTTPCaller
    private let line: Permits
    /// How long one call may take, including retries.
    package let deadline: Duration

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - address: The service's base, `https://<ref>.supabase.co/storage/v1`.
    ///   - key: A key that permits deletion.
    ///   - caller: Sends the requests.
    ///   - deadline: How long one call may take, including retries.
    package init(address: ServiceAddress, key: StorageKey, caller: HTTPCaller, deadline: Duration = .seconds(60)) {
        self.address = address
        self.key = key
        self.caller = caller
        line = Permits(total: caller.callsPerHost)
        self.deadline = deadline
    }

    /// Waits for a free slot and then runs `body`, whose deadline therefore excludes the wait.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while it waits.
    package func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await line.with { _ in try await body() }
    }

    /// Lists the objects below a folder at all levels, a page at a time.
    ///
    /// Uses the newer listing, and falls back to the older one if the server lacks it.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - folder: A folder, with or without a trailing slash; empty for the whole bucket.
    ///   - cursor: Where to begin; nil at the start.
    ///   - limit: The maximum number of objects in a page, up to 1000.
    /// - Returns: A page; the outcome is `gone` if the bucket does not exist.
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
            let answer = try await recursiveListing(bucket, prefix: prefix, mark: mark, limit: limit)
            return Self.listing(answer, from: mark)
        case nil:
            let answer = try await recursiveListing(bucket, prefix: prefix, mark: nil, limit: limit)
            if case .unknownRoute = answer {
                return try await listOneLevel(bucket: bucket, folders: [prefix], offset: 0, limit: limit)
            }
            return Self.listing(answer)
        }
    }

    /// Deletes objects by their exact keys, and by version if the bucket keeps versions.
    ///
    /// - Parameters:
    ///   - targets: 1 to ``largestBatch`` objects.
    ///   - bucket: The bucket's id.
    /// - Returns: What the service deleted unasked, if it reports success; the database shows what is left.
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
        // The service answers after deleting everything, with whole rows whose size users control, so an answer that is
        // too long to read is a success.
        if answer == .longSuccess { return .done(StorageDeletion(requested: keys, named: [])) }
        return answer.outcome { body in
            Self.decode([Row].self, body).map { StorageDeletion(requested: keys, named: $0.map(\.name)) }
        }
    }

    /// Lists the buckets, which is also the cheapest way to test the address and the key.
    ///
    /// - Returns: The buckets.
    /// - Throws: `CancellationError`.
    package func buckets() async throws(CancellationError) -> StorageOutcome<[StorageBucket]> {
        try await send("storage.buckets", .get, "/bucket").outcome { Self.decode([StorageBucket].self, $0) }
    }
}
