import Postgres

/// Storage's operations on objects, which combine rows and bytes.
struct StorageOperations: Sendable {
    let scope: StorageScope
    let files: FileStore
    let operation: String

    /// The row of an object as the API shows it, with times as JavaScript writes them.
    static let objectAsJSON = Statement(
        unsafeSQL: """
            jsonb_build_object(
                'name', o.name, 'bucket_id', o.bucket_id, 'id', o.id, 'version', o.version,
                'owner', coalesce(o.owner::text, ''), 'owner_id', o.owner_id,
                'created_at', to_char(o.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'updated_at', to_char(o.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'last_accessed_at', to_char(o.last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'metadata', o.metadata, 'user_metadata', o.user_metadata
            )
            """
    )

    private static let bucketAsJSON = Statement(
        unsafeSQL: """
            jsonb_build_object(
                'id', b.id, 'name', b.name, 'owner', coalesce(b.owner::text, ''), 'public', b.public,
                'file_size_limit', b.file_size_limit, 'allowed_mime_types', b.allowed_mime_types, 'type', b.type,
                'created_at', to_char(b.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                'updated_at', to_char(b.updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            )
            """
    )

    func buckets(as caller: StorageCaller) async throws -> Reply {
        let text = try await scope.run(as: caller, operation: operation) { connection in
            try connection.one(
                """
                select coalesce(jsonb_agg(\(Self.bucketAsJSON) order by b.id), '[]')::text
                from storage.buckets as b
                """,
                as: String.self
            )
        }
        return .text(text, contentType: "application/json; charset=utf-8")
    }

    func bucket(_ id: String, as caller: StorageCaller) async throws -> Reply {
        let text = try await scope.run(as: caller, operation: operation) { connection in
            try connection.first(
                "select (\(Self.bucketAsJSON))::text from storage.buckets as b where b.id = \(id)",
                as: String.self
            )
        }
        guard let text else { throw StorageFailure.noSuchBucket }
        return .text(text, contentType: "application/json; charset=utf-8")
    }
}
