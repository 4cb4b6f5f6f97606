import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// The time limit for finding out which files are shared.
    private static let patience = Duration.seconds(1)

    /// The size of a table in bytes, or of its partitions: a partitioned table has no bytes of its own.
    static func size(of table: Statement) -> Statement {
        """
        coalesce(
            (select sum(pg_relation_size(part.relid)) from pg_partition_tree(\(table)) as part),
            pg_relation_size(\(table))
        )
        """
    }

    /// Whether a table is small enough to be scanned quickly.
    static func isSmall(_ table: TableName, on connection: isolated Connection) throws -> Bool {
        let name: Statement = "\(table.quoted.text)::regclass"
        return try connection.one("select \(size(of: name)) < 67108864", as: Bool.self)
    }

    /// The account's files by bucket.
    ///
    /// They are found by the folder named after the account, which the index on the lower-case name serves (Swift's
    /// upper-case ids match too), by the key in the profile, and by the owner, for which there is no index.
    static func files(
        _ id: UUID,
        _ profile: [String: ProfileValue]?,
        in folders: AvatarFolders,
        byOwner: Bool,
        on connection: isolated Connection
    ) async throws -> [Files] {
        let namesFiles = profile?.keys.contains("avatar_url") == true
        let url = profile?["avatar_url"]?.text
        let (named, shared) = try await named(by: id, in: folders, on: connection)
        let found = try connection.query(
            """
            with avatar as (
                select \(AccountObjects.key(in: "u.url")) as key
                from (values (\(url)::text)) as u (url)
            ),
            mine as (
                \(ownObjects(id.text, named: named, byOwner: byOwner))
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
        var files = found.map { bucket, count, bytes, unused in
            let shared = bucket == AccountObjects.bucketOfProfiles ? shared : nil
            return Files(bucket: bucket, count: count, bytes: bytes, unused: unused, shared: shared)
        }
        // All files of the bucket that concern the account are shared.
        if let shared, shared > 0, !files.contains(where: { $0.bucket == AccountObjects.bucketOfProfiles }) {
            files.append(Files(bucket: AccountObjects.bucketOfProfiles, count: 0, bytes: 0, unused: 0, shared: shared))
            files.sort { $0.bucket < $1.bucket }
        }
        return files
    }

    /// A query of the account's objects.
    ///
    /// `avatar` holds the key that the profile names, `named` the unowned objects that it names; `byOwner` scans all of
    /// Storage.
    private static func ownObjects(_ text: String, named: [String], byOwner: Bool) -> Statement {
        let isOwned: Statement = "\(AccountObjects.owner) = \(text)"
        let elsewhere: Statement =
            byOwner
            ? """
            union
            select o.id, o.bucket_id, o.name, o.metadata
            from storage.objects as o
            where \(isOwned)
            """
            : ""
        return """
            select o.id, o.bucket_id, o.name, o.metadata
            from storage.buckets as b
            join storage.objects as o
                on o.bucket_id = b.id
                and \(AccountObjects.isInFolder(of: "\(text)::text"))
            where (\(isOwned) or \(AccountObjects.isNobodys))
            union
            select o.id, o.bucket_id, o.name, o.metadata
            from avatar as a
            join storage.objects as o on o.bucket_id = \(AccountObjects.bucketOfProfiles) and o.name = a.key
            where \(isOwned)
            union
            select o.id, o.bucket_id, o.name, o.metadata
            from storage.objects as o
            where o.bucket_id = \(AccountObjects.bucketOfProfiles) and o.name = any(\(named))
              and \(AccountObjects.isNobodys)
            \(elsewhere)
            """
    }

    /// The unowned objects that the profile alone names, and the number of shared ones.
    ///
    /// A deletion keeps a shared object, because another account names it too or it is older than this account. The
    /// app's own objects are neither. If the check would take long, nothing counts as shared and the number is nil.
    private static func named(
        by id: UUID,
        in folders: AvatarFolders,
        on connection: isolated Connection
    ) async throws -> (keys: [String], shared: Int?) {
        guard let profiles = try DeletionCatalog.readProfiles(on: connection), profiles.hasAvatarURL else {
            return ([], nil)
        }
        let named = try AccountObjects.named(by: [id], profiles: profiles, on: connection)
            .filter { folders.fate(of: $0.object.key) != .apps }
        if named.isEmpty { return ([], 0) }
        let shared = try await shared(named, in: profiles, on: connection)?.union(named.filter(\.isOlder))
        return (named.filter { !$0.isOlder && shared?.contains($0) != true }.map(\.object.key), shared?.count)
    }

    /// Which of these objects another account names too; nil if the check would take long.
    private static func shared(
        _ named: [NamedObject],
        in profiles: DeletionCatalog.Profiles,
        on connection: isolated Connection
    ) async throws -> Set<NamedObject>? {
        guard try isSmall(profiles.table, on: connection) else { return nil }
        return try await inTime(on: connection) { connection in
            try SharedObjects(named).find(in: profiles, within: patience, on: connection)
        }
    }

    /// Reads something with a deadline; nil if the deadline passes, and the report goes on without the result.
    ///
    /// A small table may still have very many rows, the server may be busy, and the server's own timeout may come
    /// first.
    static func inTime<Result>(
        on connection: isolated Connection,
        _ read: (isolated Connection) async throws -> Result
    ) async throws -> Result? {
        do {
            return try await connection.savepoint(read)
        } catch let error as PostgresError
            where error.code == .deadlineExceeded || [.queryCanceled, .lockNotAvailable].contains(error.sqlState)
        {
            return nil
        }
    }
}
