import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds the objects that belong to accounts, by one rule, in one pass for many accounts.
///
/// The rule: an object belongs to an account if `owner_id` is the account, or, where that is empty, `owner`, which
/// Storage has deprecated. If both are empty, it belongs to the account if the first segment of its key is the user id,
/// in any case, or if this account's profile and no other names it in a folder that ``AvatarFolders`` declares to be
/// accounts'. An object that somebody else owns, that is in a folder named by another user id, or that is older than
/// the account never belongs to the account, whatever its profile says: people write their profiles themselves.
///
/// A bucket may keep versions. Each version has an owner of its own and is an object here; so is the delete marker that
/// a user's delete leaves at a key of theirs, unless somebody else has a version there: without the marker, somebody
/// else's deleted file might reappear.
///
/// A profile names an object by its `avatar_url`; ``AvatarTexts`` and ``AvatarNames`` find what another profile names,
/// in any text, as they do for sweeps: in doubt an object is shared, and stays.
enum AccountObjects {
    /// The objects found for one account.
    struct Found: Sendable {
        /// The account's objects, in order.
        var objects: [StoredObject] = []
        /// How many objects without an owner its profile names that stay, since another account names them, too, or
        /// they are older than the account.
        var shared = 0
        /// How many objects without an owner only its profile names, in folders about which nobody decided whose files
        /// they hold.
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

    /// The objects whose owner columns name one of the accounts.
    ///
    /// Owner columns have no index: this reads the table once, for all accounts. A join, since the server hashes what
    /// it joins, but compares each row with every element of an array parameter.
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

    /// The objects without an owner in the accounts' folders: one index range per bucket and account.
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

    /// The account to which an object `o` belongs, as text; null if it has no owner.
    static let owner: Statement = ownerText(of: "o")

    /// As ``owner``, for an object under another alias.
    static func ownerText(of object: Statement) -> Statement {
        "coalesce(lower(nullif(\(object).owner_id, '')), \(object).owner::text)"
    }

    /// Whether an object `o` has no owner, so that ``owner`` is null; written so that the planner can estimate it.
    static let isNobodys: Statement = "(o.owner is null and coalesce(o.owner_id, '') = '')"

    /// Whether an object `o` is in the folder named by a user id, in any case, as a range of Storage's own index.
    static func isInFolder(of user: Statement) -> Statement {
        """
        lower(o.name) collate "C" >= \(user) || '/'
        and lower(o.name) collate "C" < \(user) || '0'
        """
    }

    /// The bucket whose objects `avatar_url` names.
    static let bucketOfProfiles = "avatars"
}
