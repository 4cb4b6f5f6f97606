import Hummingbird
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StorageOperations {
    /// Uploads an object: inserts the row as the caller, writes the bytes, then commits.
    func upload(
        _ bucket: String,
        _ key: String,
        _ upload: UploadBody,
        replaces: Bool,
        as caller: StorageCaller,
        carryOut: Bool
    ) async throws -> Reply {
        guard Self.isValid(key) else { throw StorageFailure.invalidKey(key) }
        try await checkLimits(bucket, upload)
        let version = UUID().text
        let metadata = JSON(ObjectMetadata(upload))
        let owner = caller.subject
        // The deprecated column is a uuid, so it stays empty for other subjects.
        let ownerID = owner.flatMap { UUID(uuidString: $0) }
        let keepsVersions = try await keepsVersions(bucket)
        let (id, previous) = try await scope.run(as: caller, operation: operation) { connection in
            let previous = try Self.lockVersion(bucket, key, on: connection)
            let id: UUID
            // An upload over a delete marker need not declare that it replaces an object.
            if keepsVersions, previous == nil || replaces || upload.upserts {
                try Self.archive(bucket, [key], on: connection)
            }
            if !keepsVersions, previous != nil, replaces || upload.upserts {
                id = try connection.one(
                    """
                    update storage.objects as o
                    set version = \(version),
                        metadata = \(metadata),
                        owner = \(ownerID),
                        owner_id = \(owner)
                    where o.bucket_id = \(bucket)
                      and o.name = \(key)
                    returning o.id
                    """,
                    as: UUID.self
                )
            } else if replaces, previous == nil {
                throw StorageFailure.noSuchKey
            } else {
                id = try connection.one(
                    """
                    insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, is_versioned)
                    values (\(bucket), \(key), \(ownerID), \(owner), \(version), \(metadata), \(keepsVersions))
                    returning id
                    """,
                    as: UUID.self
                )
            }
            guard carryOut else { throw Pretended(reply: try Self.uploaded(bucket, key, id)) }
            try files.write(upload.bytes, bucket: bucket, key: key, version: version)
            let replaced: String? = keepsVersions ? nil : previous.flatMap { $0 }
            return (id, replaced)
        }
        if let previous { try? files.remove(bucket: bucket, key: key, version: previous) }
        return try Self.uploaded(bucket, key, id)
    }

    /// Downloads an object, or a part of it for a `Range` header.
    func download(bucket: String, key: String, range: String?, as caller: StorageCaller) async throws -> Reply {
        let found = try await scope.run(as: caller, operation: operation) { connection in
            try Self.find(bucket, key, on: connection)
        }
        return try read(bucket, key, found, range: range)
    }

    /// Downloads of public buckets need no key and check no policy.
    func downloadPublic(bucket: String, key: String) async throws -> Reply {
        let found = try await scope.runAsServer { connection in
            let isPublic = try connection.first(
                "select b.public from storage.buckets as b where b.id = \(bucket)",
                as: Bool?.self
            )
            guard isPublic == true else { throw StorageFailure.noSuchBucket }
            return try Self.find(bucket, key, on: connection)
        }
        return try read(bucket, key, found)
    }

    /// The version of an object, whose row is locked: nil if there is no object, and an inner nil if it has no version.
    static func lockVersion(_ bucket: String, _ key: String, on connection: isolated Connection) throws -> String?? {
        try connection.first(
            """
            select o.version
            from storage.objects as o
            where o.bucket_id = \(bucket)
              and o.name = \(key)
              and \(Self.isCurrent)
            for update
            """,
            as: String?.self
        )
    }

    private static func find(
        _ bucket: String,
        _ key: String,
        on connection: isolated Connection
    ) throws -> (version: String?, mediaType: String?)? {
        try connection.first(
            """
            select o.version, o.metadata ->> 'mimetype'
            from storage.objects as o
            where o.bucket_id = \(bucket)
              and o.name = \(key)
              and \(isCurrent)
            """,
            as: (String?, String?).self
        )
    }

    private func read(
        _ bucket: String,
        _ key: String,
        _ found: (version: String?, mediaType: String?)?,
        range text: String? = nil
    ) throws -> Reply {
        guard let found, let version = found.version else { throw StorageFailure.noSuchKey }
        let range = text.flatMap(Self.byteRange)
        guard let (bytes, size) = try? files.read(bucket: bucket, key: key, version: version, range) else {
            throw StorageFailure.noSuchKey
        }
        let mediaType = found.mediaType ?? "application/octet-stream"
        guard let range else { return Reply(status: 200, contentType: mediaType, body: bytes) }
        var reply = Reply(status: 206, contentType: mediaType, body: bytes)
        // Like the server with a file backend: it announces the whole requested range, even if the object is shorter.
        reply.headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound)/\(size)"
        reply.missing = range.count - bytes.count
        reply.headers[.eTag] = "\"\(version)\""
        return reply
    }

    /// Parses `bytes=0-99`; other forms are not used, and ignored as the standard allows.
    private static func byteRange(_ text: String) -> ClosedRange<Int>? {
        guard text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst("bytes=".count).split(separator: "-").map { Int($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
        // A range of more bytes than an Int counts is ignored, too.
        return last - first < Int.max ? first...last : nil
    }

    /// Checks the bucket's own limits, read past row-level security as the server does.
    private func checkLimits(_ bucket: String, _ upload: UploadBody) async throws {
        let limits = try await scope.runAsServer { connection in
            try connection.first(
                "select b.file_size_limit, b.allowed_mime_types from storage.buckets as b where b.id = \(bucket)",
                as: (Int64?, [String]?).self
            )
        }
        guard let (largest, types) = limits else { throw StorageFailure.noSuchBucket }
        if let largest, upload.bytes.count > largest { throw StorageFailure.tooLarge }
        if let types, !types.isEmpty {
            let family = upload.mediaType.split(separator: "/").first.map { $0 + "/*" } ?? "*"
            guard types.contains(upload.mediaType) || types.contains(family) || types.contains("*/*") else {
                throw StorageFailure.mimeType(upload.mediaType)
            }
        }
    }

    private static func uploaded(_ bucket: String, _ key: String, _ id: UUID) throws -> Reply {
        struct Body: Encodable {
            let id: String
            let key: String

            enum CodingKeys: String, CodingKey {
                case id = "Id"
                case key = "Key"
            }
        }
        return try .json(Body(id: id.text, key: "\(bucket)/\(key)"))
    }

    /// Whether the server accepts the key for a new object.
    private static func isValid(_ key: String) -> Bool {
        let punctuation = Set("_/!-.*'() &$@=;:+,?")
        return !key.isEmpty && key.utf8.count <= 1024
            && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || punctuation.contains($0)) }
    }
}

/// The metadata that the server records about an object's bytes.
private struct ObjectMetadata: Codable, Sendable {
    let eTag: String
    let size: Int
    let mimetype: String
    let cacheControl: String
    let lastModified: String
    let contentLength: Int
    let httpStatusCode: Int

    init(_ upload: UploadBody) {
        eTag = "\"\(RandomText.hex(length: 32))\""
        size = upload.bytes.count
        mimetype = upload.mediaType
        cacheControl = "max-age=\(upload.cacheSeconds)"
        lastModified = Date().formatted(.iso8601)
        contentLength = upload.bytes.count
        httpStatusCode = 200
    }
}
