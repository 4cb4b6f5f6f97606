import Postgres

/// What a row of `storage.objects` is where its bucket keeps versions.
extension AccountObjects {
    /// The columns that make an object, of `o` in its bucket `b`.
    ///
    /// Older servers have none of those that tell of versions. Qualified, since a function of the app's for a row would fit
    /// better.
    static let columns: Statement = """
        o.bucket_id,
        o.name,
        case when coalesce(pg_catalog.to_jsonb(b) ->> 'versioning_status', 'DISABLED') <> 'DISABLED' then o.version end,
        case
            when pg_catalog.to_jsonb(o) ->> 'archived_at' <> '' then 0
            when \(isCurrent) then 1
            when not exists (
                select
                from storage.objects as h
                where h.bucket_id = o.bucket_id
                  and h.name = o.name
                  and h.id <> o.id
            ) then 2
            else 3
        end
        """

    /// An object of the database; nil for a mark that hides something.
    static func stored(_ bucket: String, _ key: String, _ version: String?, _ place: Int) -> StoredObject? {
        StoredObject.Place(rawValue: place).map {
            StoredObject(bucket: bucket, key: key, version: version, place: $0)
        }
    }

    /// That a key names this object `o` now, and not one of the earlier versions that its bucket keeps, or nothing.
    static let isCurrent: Statement = """
        (
            pg_catalog.to_jsonb(o) ->> 'archived_at' is null
            and coalesce(pg_catalog.to_jsonb(o) ->> 'is_delete_marker', 'false') = 'false'
        )
        """
}
