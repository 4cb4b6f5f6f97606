import Postgres

/// Buckets with versioning: a replaced object is archived, and a delete by key leaves a delete marker.
///
/// Suspending versioning is not simulated.
extension StorageOperations {
    /// The condition that `o` is the current object of its key.
    static let isCurrent: Statement = "(o.archived_at is null and not o.is_delete_marker)"

    /// Whether a bucket keeps versions, read past row-level security as the server does; false if it does not exist.
    func keepsVersions(_ bucket: String) async throws -> Bool {
        try await scope.runAsServer { connection in
            try connection.first(
                "select b.versioning_status <> 'DISABLED' from storage.buckets as b where b.id = \(bucket)",
                as: Bool.self
            ) ?? false
        }
    }

    /// Archives the current objects of the keys.
    static func archive(_ bucket: String, _ keys: [String], on connection: isolated Connection) throws {
        try connection.execute(
            """
            update storage.objects as o
            set archived_at = clock_timestamp()
            where o.bucket_id = \(bucket)
              and o.name = any(\(keys))
              and o.archived_at is null
            """
        )
    }

    /// Hides the objects of keys behind delete markers, even for keys without an object.
    ///
    /// - Returns: The markers, as the API shows them.
    static func mark(_ bucket: String, _ keys: [String], on connection: isolated Connection) throws -> [String] {
        try archive(bucket, keys, on: connection)
        return try connection.query(
            """
            insert into storage.objects as o (bucket_id, name, version, is_delete_marker, is_versioned)
            select \(bucket), k.key, gen_random_uuid()::text, true, true
            from unnest(\(Array(Set(keys)))) as k (key)
            returning (\(objectAsJSON))::text
            """,
            as: String.self
        )
    }

    /// Removes versions permanently; if a key has no current version, its newest remaining one becomes current.
    ///
    /// - Returns: The key, the version, and the API's representation of each.
    static func remove(
        _ versions: [(key: String, version: String)],
        in bucket: String,
        on connection: isolated Connection
    ) throws -> [(key: String, version: String?, row: String)] {
        guard !versions.isEmpty else { return [] }
        let keys = versions.map(\.key)
        let removed = try connection.query(
            """
            delete from storage.objects as o
            using unnest(\(keys), \(versions.map(\.version))) as k (key, version)
            where o.bucket_id = \(bucket)
              and o.name = k.key
              and o.version = k.version
            returning o.name, o.version, (\(objectAsJSON))::text
            """,
            as: (String, String?, String).self
        )
        try connection.execute(
            """
            update storage.objects as o
            set archived_at = null
            where o.bucket_id = \(bucket)
              and o.name = any(\(keys))
              and o.archived_at is not null
              and o.id = (
                  select k.id
                  from storage.objects as k
                  where k.bucket_id = o.bucket_id
                    and k.name = o.name
                  order by k.archived_at desc nulls first
                  limit 1
              )
            """
        )
        return removed.map { (key: $0.0, version: $0.1, row: $0.2) }
    }
}
