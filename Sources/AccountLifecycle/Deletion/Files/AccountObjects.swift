import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the objects that belong to accounts, by one rule, in one pass for many accounts.
///
/// The rule: an object is an account's when `owner_id` is this account, or `owner`, which Storage has deprecated, where
/// that is empty; or when both are empty and either the first segment of its key is the user id, in any case, or this
/// account's profile and no other names it in a folder that ``AvatarFolders`` tells to be accounts'. What somebody else
/// owns, what lies in a folder named by another user id, and what was there before the account is never an account's,
/// whatever its profile says: people write their profiles themselves.
///
/// A bucket may keep versions. Each has an owner of its own, and is an object here; so is the mark that a user's delete
/// leaves at a key of theirs, unless anybody else has a version there: without it, somebody else's deleted file might be
/// there again.
///
/// A profile names an object by its `avatar_url`; what another one names, in whatever text, is told by ``AvatarTexts``
/// and ``AvatarNames``, as it is for sweeps: in doubt an object is shared, and stays.
enum AccountObjects {
    /// What was found of one account.
    struct Found: Sendable {
        /// The account's objects, in order.
        var objects: [StoredObject] = []
        /// How many objects of nobody its profile names that stay, since another account names them, too, or they are
        /// older than it.
        var shared = 0
        /// How many objects of nobody its profile alone names in folders of which nobody said whose files are there.
        var undecided = 0
    }

    /// What becomes of an object of nobody that a profile names.
    enum NamedFate: Sendable, Hashable {
        /// It is the account's.
        case own
        /// It stays: another account names it, too, or it was there before the account.
        case shared
        /// Nobody said whose the files in its folder are.
        case undecided
    }

    /// The objects of each account, in every bucket.
    static func find(
        of users: [UUID],
        profiles: DeletionCatalog.Profiles?,
        folders: AvatarFolders,
        on connection: isolated Connection
    ) throws -> [UUID: Found] {
        var found: [UUID: Set<StoredObject>] = [:]
        let owned = try owned(by: users, on: connection)
        let unowned = try marks(amid: owned, on: connection) + inFolders(of: users, on: connection)
        for (user, object) in owned + unowned {
            found[user, default: []].insert(object)
        }
        var shared: [UUID: Int] = [:]
        var undecided: [UUID: Int] = [:]
        if let profiles {
            for (named, fate) in try findNamed(by: users, profiles: profiles, folders: folders, on: connection) {
                switch fate {
                case .own: found[named.account, default: []].insert(named.object)
                case .shared: shared[named.account, default: 0] += 1
                case .undecided: undecided[named.account, default: 0] += 1
                }
            }
        }
        return Dictionary(
            users.map { user -> (UUID, Found) in
                let objects = (found[user] ?? []).sorted()
                return (user, Found(objects: objects, shared: shared[user] ?? 0, undecided: undecided[user] ?? 0))
            }
        ) { first, _ in first }
    }

    /// The objects that say that they are one of the accounts'.
    ///
    /// Owner columns have no index: this reads the table once, for all accounts. Joined, since the server hashes what it
    /// joins, and compares each row with every account of an array it was given as a parameter.
    private static func owned(
        by users: [UUID],
        on connection: isolated Connection
    ) throws -> [(account: UUID, object: StoredObject)] {
        try query(
            """
            select a.id, \(columns(for: "a.text"))
            from storage.objects as o
            join unnest(\(users), \(users.map(\.text))) as a (id, text) on a.text = \(owner)
            join storage.buckets as b on b.id = o.bucket_id
            where o.name is not null
            """,
            deadline: .seconds(1800),
            on: connection
        )
    }

    /// The objects of nobody in the accounts' folders: one index range per bucket and account.
    private static func inFolders(
        of users: [UUID],
        on connection: isolated Connection
    ) throws -> [(account: UUID, object: StoredObject)] {
        try query(
            """
            select a.id, \(columns(for: "a.id::text"))
            from unnest(\(users)) as a (id)
            cross join storage.buckets as b
            join storage.objects as o
                on o.bucket_id = b.id
                and \(isInFolder(of: "a.id"))
            where \(isNobodys)
            """,
            on: connection
        )
    }

    static func query(
        _ statement: Statement,
        deadline: Duration? = nil,
        on connection: isolated Connection
    ) throws -> [(account: UUID, object: StoredObject)] {
        try connection.query(
            statement,
            as: (UUID, String, String, String?, StoredObject.Place?).self,
            deadline: deadline
        )
        .compactMap { account, bucket, key, version, place -> (account: UUID, object: StoredObject)? in
            guard let object = Self.stored(bucket, key, version, place) else { return nil }
            return (account, object)
        }
    }

    /// The objects of nobody that the profiles of these accounts name, less the app's own, and what becomes of them.
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

    /// The objects of nobody that the profiles of these accounts name.
    static func named(
        by users: [UUID],
        profiles: DeletionCatalog.Profiles,
        on connection: isolated Connection
    ) throws -> [NamedObject] {
        guard profiles.hasAvatarURL else { return [] }
        let paths = try connection.query(
            """
            select \(identifier: profiles.key), \(key(in: "avatar_url"))
            from \(identifier: profiles.table.schema).\(identifier: profiles.table.name)
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

    /// A path as it is, and with its escapes resolved where it has some: URLs of the Storage API are escaped.
    private static func spellings(of path: String) -> [String] {
        let bytes = Array(path.utf8)
        let unescaped = AvatarNames.Texts.unescaped(bytes)
        guard unescaped != bytes, !unescaped.contains(0), let other = String(validating: unescaped, as: UTF8.self)
        else {
            return [path]
        }
        return [path, other]
    }

    /// Which of the account's objects are its own still: somebody may have uploaded another in their place, or
    /// been given them.
    ///
    /// Whether another profile names them, too, which reads all profiles, is not told again.
    static func stillOwned(
        _ objects: [StoredObject],
        by user: UUID,
        profiles: DeletionCatalog.Profiles?,
        folders: AvatarFolders,
        on connection: isolated Connection
    ) throws -> [StoredObject] {
        let named = try profiles.map { try Self.named(by: [user], profiles: $0, on: connection) } ?? []
        let ownByName = named.map(\.object.key).filter { folders.fate(of: $0) == .accounts }
        // Of one that was found without a version any: its bucket may have begun to keep them since.
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

    /// Which of these objects have a row still.
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

    /// Objects as a table `k`; the version is empty of one that has no id, and `place` counts from 1.
    private static func listed(_ objects: [StoredObject]) -> Statement {
        """
        unnest(\(objects.map(\.bucket)), \(objects.map(\.key)), \(objects.map { $0.version.id ?? "" }))
            with ordinality as k (bucket, key, version, place)
        """
    }

    /// The account that an object `o` belongs to, as text; null for an object of nobody.
    static let owner: Statement = ownerText(of: "o")

    /// As ``owner``, of an object that is called otherwise.
    static func ownerText(of object: Statement) -> Statement {
        "coalesce(lower(nullif(\(object).owner_id, '')), \(object).owner::text)"
    }

    /// That an object `o` belongs to nobody: what ``owner`` is null of, spelled so that the planner can estimate it.
    static let isNobodys: Statement = "(o.owner is null and coalesce(o.owner_id, '') = '')"

    /// That an object `o` lies in the folder named by a user id, in any case, as a range of Storage's own index.
    static func isInFolder(of user: Statement) -> Statement {
        """
        lower(o.name) collate "C" >= \(user) || '/'
        and lower(o.name) collate "C" < \(user) || '0'
        """
    }

    /// The bucket that `avatar_url` names objects of.
    static let bucketOfProfiles = "avatars"

    /// The keys that profiles name under which an object of nobody is.
    private static func ownerless(_ paths: [(account: UUID, path: String)]) -> Statement {
        """
        select n.account, coalesce(o.created_at < u.created_at, false), \(columns(for: "n.account::text"))
        from unnest(\(paths.map(\.account)), \(paths.map(\.path))) as n (account, path)
        join storage.objects as o on o.bucket_id = \(bucketOfProfiles) and o.name = n.path
        join storage.buckets as b on b.id = o.bucket_id
        left join auth.users as u on u.id = n.account
        where \(isNobodys)
          -- In the account's own folder it is the account's, whoever names it.
          and not starts_with(lower(o.name), n.account || '/')
          -- A profile can be made to name anything: the folder of somebody else is stronger.
          and (
              split_part(o.name, '/', 1) !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
              or lower(split_part(o.name, '/', 1)) = n.account::text
          )
        """
    }

    /// The key that a column holds, as such or at the end of a URL of the Storage API.
    ///
    /// Its person may write as much there as they like, and all of it would be in the worker's memory: the start has the
    /// path even of a URL with a very long query.
    static func key(in column: String) -> Statement {
        let start = "pg_catalog.left(\(column), 4096)"
        return Statement(
            unsafeSQL: """
                regexp_replace(regexp_replace(\(start), '[?#].*$', ''), '^https?://.*/\(bucketOfProfiles)/', '')
                """
        )
    }
}
