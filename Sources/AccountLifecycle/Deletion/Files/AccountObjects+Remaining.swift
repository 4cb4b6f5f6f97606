import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The present state of objects that were found earlier.
extension AccountObjects {
    /// Which of the objects still belong to the account: somebody may have uploaded others in their place, or been
    /// given them.
    ///
    /// Whether another profile names them, too, is not checked again, since that reads all profiles.
    static func stillOwned(
        _ objects: [StoredObject],
        by user: UUID,
        profiles: DeletionCatalog.Profiles?,
        folders: AvatarFolders,
        on connection: isolated Connection
    ) throws -> [StoredObject] {
        let named = try profiles.map { try Self.named(by: [user], profiles: $0, on: connection) } ?? []
        let ownByName = named.map(\.object.key).filter { folders.fate(of: $0) == .accounts }
        // An object found without a version matches any, since its bucket may have begun to keep versions.
        return try connection.query(
            """
            select \(columns(for: "\(user.text)"))
            from \(listed(objects))
            join storage.objects as o
                on o.bucket_id = k.bucket
                and o.name = k.key
                and (k.version = '' or o.version = k.version)
            join storage.buckets as b on b.id = o.bucket_id
            where \(owner) = \(user.text)
               or (
                   \(isNobodys)
                   and (
                       \(isMark("o"))
                       or starts_with(lower(o.name), \(user.text + "/"))
                       or (o.bucket_id = \(bucketOfProfiles) and o.name = any(\(ownByName)))
                   )
               )
            """,
            as: (String, String, String?, StoredObject.Place?).self
        ).compactMap { bucket, key, version, place in Self.stored(bucket, key, version, place) }
    }

    /// Which of these objects still have a row.
    static func remaining(_ objects: [StoredObject], on connection: isolated Connection) throws -> [StoredObject] {
        try connection.query(
            """
            select k.place
            from \(listed(objects))
            where exists (
                select
                from storage.objects as o
                where o.bucket_id = k.bucket
                  and o.name = k.key
                  and (k.version = '' or o.version = k.version)
            )
            """,
            as: Int.self
        ).map { objects[$0 - 1] }
    }

    /// Objects as a table `k`; `version` is empty for an object without an id, and `place` counts from 1.
    private static func listed(_ objects: [StoredObject]) -> Statement {
        """
        unnest(\(objects.map(\.bucket)), \(objects.map(\.key)), \(objects.map { $0.version.id ?? "" }))
            with ordinality as k (bucket, key, version, place)
        """
    }
}
