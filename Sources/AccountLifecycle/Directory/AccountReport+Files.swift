import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Whether a table is read in no time.
    static func isSmall(_ table: TableName, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            "select pg_relation_size(format('%I.%I', \(table.schema)::text, \(table.name)::text)) < 67108864",
            as: Bool.self
        )
    }

    /// By the folder named after the account, which the index on the lower-case name serves (Swift's upper-case ids are found too), by
    /// the name in the profile, and by the owner, for which there is no index.
    static func files(
        _ id: UUID,
        _ profile: [String: String?]?,
        byOwner: Bool,
        on connection: isolated Connection
    ) throws -> [Files] {
        let text = id.uuidString.lowercased()
        let namesFiles = profile?.keys.contains("avatar_url") == true
        let url = profile?["avatar_url"] ?? nil
        let isOwned: Statement = "(o.owner = \(id) or lower(o.owner_id) = \(text))"
        let isOwnedOrNobodys: Statement =
            "(" + isOwned + " or (o.owner is null and coalesce(o.owner_id, '') = ''))"
        var mine: Statement =
            """
            select o.id, o.bucket_id, o.name, o.metadata
            from storage.buckets as b
            join storage.objects as o
                on o.bucket_id = b.id
                and lower(o.name) collate "C" >= \(text + "/")
                and lower(o.name) collate "C" < \(text + "0")
            where
            """ + isOwnedOrNobodys
        mine +=
            """

            union
            select o.id, o.bucket_id, o.name, o.metadata
            from avatar as a
            join storage.objects as o on o.bucket_id = \(AccountObjects.bucketOfProfiles) and o.name = a.key
            where
            """ + isOwnedOrNobodys
        if byOwner {
            mine +=
                """

                union
                select o.id, o.bucket_id, o.name, o.metadata
                from storage.objects as o
                where
                """ + isOwned
        }
        let found = try connection.query(
            """
            with avatar as (
                select \(AccountObjects.key(in: "u.url")) as key
                from (values (\(url)::text)) as u (url)
            ),
            mine as (
            """ + mine + """

                )
                select m.bucket_id, count(*), coalesce(sum((m.metadata ->> 'size')::bigint), 0)::bigint,
                       case
                           when \(namesFiles) and m.bucket_id = \(AccountObjects.bucketOfProfiles)
                               then count(*) filter (where m.name is distinct from (select key from avatar))
                       end
                from mine as m
                group by m.bucket_id
                order by m.bucket_id
                """,
            as: (String, Int, Int64, Int?).self
        )
        return try found.map { bucket, count, bytes, unused in
            let shared = try bucket == AccountObjects.bucketOfProfiles ? shared(id, on: connection) : nil
            return Files(bucket: bucket, count: count, bytes: bytes, unused: unused, shared: shared)
        }
    }

    /// How many objects a deletion would leave, since another profile names them, too.
    ///
    /// Nil where there is one to look for and a large table of profiles to read for it: that is for a deletion's plan.
    private static func shared(_ id: UUID, on connection: isolated Connection) throws -> Int? {
        guard let profiles = try DeletionCatalog.readProfiles(on: connection), profiles.hasAvatarURL else { return nil }
        let named = try AccountObjects.named(by: [id], profiles: profiles, on: connection)
        if named.isEmpty { return 0 }
        guard try isSmall(profiles.table, on: connection) else { return nil }
        return try SharedObjects(named).find(in: profiles, on: connection).count
    }
}
