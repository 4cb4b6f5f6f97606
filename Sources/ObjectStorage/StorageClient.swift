package import HTTPCalls
import Sealing
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Supabase Storage's REST API, as far as erasing an account needs it.
///
/// Outcomes are values; a call throws only `CancellationError`, when its task is cancelled. One that deletes is sent
/// again only where nothing was sent: its keys may be somebody else's by then.
package struct StorageClient: Sendable {
    /// The most objects in one delete call: the service works in transactions of this size, so that a larger call can be
    /// half done.
    package static let largestBatch = 500

    private let address: ServiceAddress
    private let key: StorageKey
    private let caller: HTTPCaller
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

// MARK: - Listings

extension StorageClient {
    private func recursiveListing(
        _ bucket: String,
        prefix: String,
        mark: String?,
        limit: Int
    ) async throws(CancellationError) -> StorageAnswer {
        struct Request: Encodable {
            let prefix: String
            let limit: Int
            let cursor: String?
        }
        return try await send(
            "storage.list",
            .post,
            "/object/list-v2/\(PercentEncoding.component(bucket))",
            json: Request(prefix: prefix, limit: limit, cursor: mark),
            limit: 1 << 22
        )
    }

    private static func listing(_ answer: StorageAnswer) -> StorageOutcome<StorageListing> {
        struct Page: Decodable {
            struct Object: Decodable {
                let key: String?
                let name: String
            }
            let hasNext: Bool
            let nextCursor: String?
            let objects: [Object]
        }
        return answer.outcome { body in
            guard let page = decode(Page.self, body) else { return nil }
            // A page that promises more and does not say where would be read for ever.
            guard !page.hasNext || page.nextCursor?.isEmpty == false else { return nil }
            return StorageListing(
                keys: page.objects.map { $0.key ?? $0.name },
                next: page.hasNext ? page.nextCursor.map { .init(place: .mark($0)) } : nil
            )
        }
    }

    private func listOneLevel(
        bucket: String,
        folders: [String],
        offset: Int,
        limit: Int
    ) async throws(CancellationError) -> StorageOutcome<StorageListing> {
        struct Request: Encodable {
            struct Order: Encodable {
                let column = "name"
                let order = "asc"
            }
            let prefix: String
            let limit: Int
            let offset: Int
            let sortBy = Order()
        }
        struct Entry: Decodable {
            let name: String
            let id: String?
        }
        guard let folder = folders.first else { return .done(StorageListing(keys: [], next: nil)) }
        let answer = try await send(
            "storage.list-v1",
            .post,
            "/object/list/\(PercentEncoding.component(bucket))",
            json: Request(prefix: folder, limit: limit, offset: offset),
            limit: 1 << 22
        )
        return answer.outcome { body in
            guard let entries = Self.decode([Entry].self, body) else { return nil }
            // Names are relative to the folder, and an entry without an id is a folder.
            let found = entries.filter { $0.id == nil }.map { folder + $0.name + "/" }
            let isLastPage = entries.count < limit
            let remaining = (isLastPage ? Array(folders.dropFirst()) : folders) + found
            let next = StorageListing.Cursor(place: .folders(remaining, offset: isLastPage ? 0 : offset + limit))
            return StorageListing(
                keys: entries.filter { $0.id != nil }.map { folder + $0.name },
                next: remaining.isEmpty ? nil : next
            )
        }
    }
}

// MARK: - Sending

extension StorageClient {
    func send(
        _ label: String,
        _ method: HTTPCall.Method,
        _ path: String,
        json: (any Encodable & Sendable)? = nil,
        limit: Int = 1 << 20
    ) async throws(CancellationError) -> StorageAnswer {
        StorageAnswer(try await perform(label, method, path, json: json, limit: limit))
    }

    func perform(
        _ label: String,
        _ method: HTTPCall.Method,
        _ path: String,
        json: (any Encodable & Sendable)? = nil,
        extraHeaders: [HTTPCall.Header] = [],
        limit: Int
    ) async throws(CancellationError) -> HTTPOutcome {
        var headers = key.headers + [.init("Accept", "application/json")] + extraHeaders
        var body: Secret<[UInt8]>?
        if let json {
            headers.append(.init("Content-Type", "application/json"))
            guard let data = try? JSONEncoder().encode(json) else {
                preconditionFailure("strings and numbers can be encoded")
            }
            // Keys of objects often hold a user's id.
            body = Secret(Array(data))
        }
        return try await caller.perform(
            HTTPCall(
                label: label,
                method: method,
                address: address,
                path: path,
                headers: headers,
                body: body,
                deadline: deadline,
                attemptTimeout: min(.seconds(30), deadline),
                repetition: method == .delete ? .onlyIfNothingWasSent : .always,
                maximumReplyBytes: limit
            )
        )
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(body))
    }
}
