package import Postgres

/// What the catalog says about deleting an account: foreign keys, triggers and our role's rights.
package struct DeletionCatalog: Sendable, Hashable {
    /// A trigger or rule that runs when rows of a table are deleted or updated.
    package struct Trigger: Sendable, Hashable {
        package let table: TableName
        package let name: String
        let runsOnDelete: Bool
        let runsOnUpdate: Bool
        /// Whether it may keep a row as it is without an error, also from a cascade, since it runs before each.
        let mayKeepRows: Bool
        /// Whether its function may do what no rollback takes back: by its language, or since the text of it, or of a
        /// function named in it, names one of an extension that calls other systems, a foreign table, or one with such
        /// a trigger of its own.
        package let reachesOutside: Bool
        /// Whether it is one of Storage itself, by the schema of its function; an app may have others on the same tables.
        package let isOfStorage: Bool
    }

    /// What our role may do with a table.
    struct Rights: Sendable, Hashable {
        let mayRead: Bool
        let mayDelete: Bool
        /// Whether row-level security applies to our role, so that rows may be there that it does not see.
        let hidesRows: Bool
        /// What publications have the server refuse.
        var published = Published.harmlessly
    }

    /// What the server refuses of a table whose changes are published, where nothing tells its rows apart.
    enum Published: Sendable, Hashable {
        /// Nothing.
        case harmlessly
        /// Perhaps every delete and update: some of its rows or columns are published, which may be by others than those
        /// that tell rows apart; or each of its partitions may have something of its own.
        case perhapsRefusing
        /// Every delete, every update, or both.
        case refusing(deletes: Bool, updates: Bool)

        /// Whether it certainly refuses every delete.
        var refusesDeletes: Bool { if case .refusing(deletes: true, updates: _) = self { true } else { false } }

        /// Whether it certainly refuses every update.
        var refusesUpdates: Bool { if case .refusing(deletes: _, updates: true) = self { true } else { false } }
    }

    var foreignKeys: [ForeignKey]
    package var triggers: [Trigger]
    var rights: [TableName: Rights]
    /// The partitioned table of each partition, at any depth.
    var partitionRoots: [TableName: TableName]
    /// The table of profiles, where `public.profiles` has a one-column primary key that refers to `auth.users`.
    var profiles: Profiles?

    /// The table of profiles and the columns that matter here.
    struct Profiles: Sendable, Hashable {
        let table: TableName
        /// The primary key, which is the user id.
        let key: String
        let hasAvatarURL: Bool
        /// Its columns of text, of any type that is written as one.
        let texts: [String]
        /// Its columns with texts in them: JSON, and arrays of texts or of JSON.
        let documents: [String]
    }

    init(
        foreignKeys: [ForeignKey],
        triggers: [Trigger] = [],
        rights: [TableName: Rights] = [:],
        partitionRoots: [TableName: TableName] = [:],
        profiles: Profiles? = nil
    ) {
        self.foreignKeys = foreignKeys
        self.triggers = triggers
        self.rights = rights
        self.partitionRoots = partitionRoots
        self.profiles = profiles
    }

    /// Reads the catalog as it is now.
    package static func read(on connection: isolated Connection) throws -> DeletionCatalog {
        DeletionCatalog(
            foreignKeys: try readForeignKeys(on: connection),
            triggers: try readTriggers(on: connection),
            rights: try readRights(on: connection),
            partitionRoots: try readPartitionRoots(on: connection),
            profiles: try readProfiles(on: connection)
        )
    }
}
