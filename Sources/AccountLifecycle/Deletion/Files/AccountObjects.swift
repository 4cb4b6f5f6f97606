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
}
