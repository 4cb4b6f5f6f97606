import HTTPCalls

extension StorageClient {
    /// Requests a page of the newer listing.
    func recursiveListing(
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

    /// Parses a page of the newer listing; `mark` is where it begins.
    static func listing(_ answer: StorageAnswer, from mark: String? = nil) -> StorageOutcome<StorageListing> {
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
            // A page that announces another one without a cursor, or itself, would make the listing endless.
            guard !page.hasNext || page.nextCursor?.isEmpty == false && page.nextCursor != mark else { return nil }
            return StorageListing(
                keys: page.objects.map { $0.key ?? $0.name },
                next: page.hasNext ? page.nextCursor.map { .init(place: .mark($0)) } : nil
            )
        }
    }

    /// Requests a page of the older listing, which shows one folder at a time.
    func listOneLevel(
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
