import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a row of `storage.objects` is where its bucket keeps versions.
extension AccountObjects {
    /// The columns that make an object, of `o` in its bucket `b`, in regard to an account: bucket, key, version and
    /// ``StoredObject/Place``, which is null for a mark that may hide what is not the account's.
    ///
    /// Older servers have none of those that tell of versions. The version is null in a bucket that keeps none, and empty
    /// of what has none in one that does.
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

    /// An object of the database; nil for a mark that may hide what is not the account's.
    static func stored(
        _ bucket: String,
        _ key: String,
        _ version: String?,
        _ place: StoredObject.Place?
    ) -> StoredObject? {
        let version = version.map { $0.isEmpty ? StoredObject.Version.missing : .kept($0) } ?? .only
        return place.map { StoredObject(bucket: bucket, key: key, version: version, place: $0) }
    }

    /// That a key names this object `o` now, and not one of the earlier versions that its bucket keeps, or nothing.
    ///
    /// In one look at the row, which a sweep has at all there is.
    static let isCurrent: Statement =
        "not (pg_catalog.to_jsonb(o) @@ '$.archived_at != null || $.is_delete_marker == true')"

    /// That a row of `storage.objects` is the mark that a delete by key leaves.
    ///
    /// Qualified, since a function of the app's for a row would fit better.
    static func isMark(_ object: Statement) -> Statement {
        "(coalesce(pg_catalog.to_jsonb(\(object)) ->> 'is_delete_marker', 'false') = 'true')"
    }

    /// The marks at the keys of the accounts' own versions: they have no owner, and nothing else tells whose they were
    /// once the versions are gone.
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
