import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Objects without an owner that profiles name.
extension AccountObjects {
    /// The fate of an object without an owner that a profile names.
    enum NamedFate: Sendable, Hashable {
        /// The object belongs to the account.
        case own
        /// The object stays: another account names it, too, or it is older than the account.
        case shared
        /// Nobody decided whose the files in the object's folder are.
        case undecided
    }

    /// The objects without an owner that the profiles of these accounts name, except the app's own, and what happens to
    /// each.
    static func findNamed(
        by users: [UUID],
        profiles: DeletionCatalog.Profiles,
        folders: AvatarFolders,
        on connection: isolated Connection
    ) throws -> [(named: NamedObject, fate: NamedFate)] {
        let named = try named(by: users, profiles: profiles, on: connection)
            .filter { folders.fate(of: $0.object.key) != .apps }
        let shared = try named.isEmpty ? [] : SharedObjects(named).find(in: profiles, on: connection)
        return named.map { named -> (named: NamedObject, fate: NamedFate) in
            if named.isOlder || shared.contains(named) { return (named, .shared) }
            return (named, folders.fate(of: named.object.key) == .accounts ? .own : .undecided)
        }
    }

    /// The objects without an owner that the profiles of these accounts name.
    static func named(
        by users: [UUID],
        profiles: DeletionCatalog.Profiles,
        on connection: isolated Connection
    ) throws -> [NamedObject] {
        guard profiles.hasAvatarURL else { return [] }
        let paths = try connection.query(
            """
            select \(identifier: profiles.key), \(key(in: "avatar_url"))
            from \(profiles.table.quoted)
            where \(identifier: profiles.key) = any(\(users)) and avatar_url <> ''
            """,
            as: (UUID, String).self
        ).flatMap { account, path in spellings(of: path).map { (account: account, path: $0) } }
        guard !paths.isEmpty else { return [] }
        return try connection.query(
            ownerless(paths),
            as: (UUID, Bool, String, String, String?, StoredObject.Place?).self
        ).compactMap { account, isOlder, bucket, key, version, place -> NamedObject? in
            Self.stored(bucket, key, version, place).map { NamedObject(account: account, object: $0, isOlder: isOlder) }
        }
    }

    /// A path as it is, and with its escapes resolved if it has some: URLs of the Storage API are escaped.
    private static func spellings(of path: String) -> [String] {
        let bytes = Array(path.utf8)
        let unescaped = AvatarNames.Texts.unescaped(bytes)
        guard unescaped != bytes, !unescaped.contains(0), let other = String(validating: unescaped, as: UTF8.self)
        else {
            return [path]
        }
        return [path, other]
    }

    /// A query for the keys that profiles name and under which there is an object without an owner.
    private static func ownerless(_ paths: [(account: UUID, path: String)]) -> Statement {
        """
        select n.account, coalesce(o.created_at < u.created_at, false), \(columns(for: "n.account::text"))
        from unnest(\(paths.map(\.account)), \(paths.map(\.path))) as n (account, path)
        join storage.objects as o on o.bucket_id = \(bucketOfProfiles) and o.name = n.path
        join storage.buckets as b on b.id = o.bucket_id
        left join auth.users as u on u.id = n.account
        where \(isNobodys)
          -- An object in the account's own folder is the account's, whoever names it.
          and not starts_with(lower(o.name), n.account || '/')
          -- A profile can be made to name anything: a folder named by another user id takes precedence.
          and (
              split_part(o.name, '/', 1) !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
              or lower(split_part(o.name, '/', 1)) = n.account::text
          )
        """
    }

    /// The key that a column contains, as such or at the end of a URL of the Storage API.
    ///
    /// People may write as much there as they like, and all of it would be in the worker's memory. So only the start is
    /// read, which includes the path even of a URL with a very long query.
    static func key(in column: String) -> Statement {
        let start = "pg_catalog.left(\(column), 4096)"
        return Statement(
            unsafeSQL: """
                regexp_replace(regexp_replace(\(start), '[?#].*$', ''), '^https?://.*/\(bucketOfProfiles)/', '')
                """
        )
    }
}
