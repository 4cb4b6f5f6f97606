import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The meaning of a row of `storage.objects` in a bucket that keeps versions.
extension AccountObjects {
    /// The columns that describe an object `o` of the bucket `b` to an account: bucket, key, version and
    /// ``StoredObject/Place``, which is null for a delete marker that may hide what is not the account's.
    ///
    /// Older servers lack the columns for versions. The version is null in a bucket that keeps none, and empty for an
    /// object without one in a bucket that does.
    static func columns(for user: Statement) -> Statement {
        """
        o.bucket_id,
        o.name,
        case
            when coalesce(pg_catalog.to_jsonb(b) ->> 'versioning_status', 'DISABLED') <> 'DISABLED'
                then coalesce(o.version, '')
        end,
        case
            when \(isCurrent) then 'current'
            when not \(isMark("o")) then 'archived'
            when not exists (
                select
                from storage.objects as h
                where h.bucket_id = o.bucket_id
                  and h.name = o.name
                  and not \(isMark("h"))
                  and \(ownerText(of: "h")) is distinct from \(user)
            ) then 'mark'
        end
        """
    }

    /// Creates an object from a row; nil for a delete marker that may hide what is not the account's.
    static func stored(
        _ bucket: String,
        _ key: String,
        _ version: String?,
        _ place: StoredObject.Place?
    ) -> StoredObject? {
        let version = version.map { $0.isEmpty ? StoredObject.Version.missing : .kept($0) } ?? .only
        return place.map { StoredObject(bucket: bucket, key: key, version: version, place: $0) }
    }

    /// Whether a key names this object `o` now, and not an earlier version that its bucket keeps, or nothing.
    ///
    /// In one look at the row, since a sweep looks at every row there is.
    static let isCurrent: Statement =
        "not (pg_catalog.to_jsonb(o) @@ '$.archived_at != null || $.is_delete_marker == true')"

    /// Whether a row of `storage.objects` is the delete marker that a delete by key leaves.
    ///
    /// Qualified, since a function of the app's for such a row would be a better match.
    static func isMark(_ object: Statement) -> Statement {
        "(coalesce(pg_catalog.to_jsonb(\(object)) ->> 'is_delete_marker', 'false') = 'true')"
    }

    /// The delete markers at the keys of the accounts' own versions: they have no owner, and once the versions are gone
    /// nothing shows whose they were.
    static func marks(
        amid owned: [(account: UUID, object: StoredObject)],
        on connection: isolated Connection
    ) throws -> [(account: UUID, object: StoredObject)] {
        let versions = owned.filter { $0.object.version != .only }
        guard !versions.isEmpty else { return [] }
        let (buckets, keys) = (versions.map(\.object.bucket), versions.map(\.object.key))
        return try query(
            """
            select a.id, \(columns(for: "a.id::text"))
            from (
                select distinct k.id, k.bucket, k.key
                from unnest(\(versions.map(\.account)), \(buckets), \(keys)) as k (id, bucket, key)
            ) as a
            join storage.objects as o on o.bucket_id = a.bucket and o.name = a.key
            join storage.buckets as b on b.id = o.bucket_id
            where \(isNobodys)
              and \(isMark("o"))
            """,
            on: connection
        )
    }
}
