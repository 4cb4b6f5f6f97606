package import Postgres

/// The catalog's facts about deleting an account: foreign keys, triggers and our role's rights.
package struct DeletionCatalog: Sendable, Hashable {
    /// A trigger or rule that runs when rows of a table are deleted or updated.
    package struct Trigger: Sendable, Hashable {
        package let table: TableName
        package let name: String
        /// How the server may name its function in the context of an error: with its schema, or without where the search
        /// path finds it; none for a rule.
        let functionNames: [String]
        let runsOnDelete: Bool
        let runsOnUpdate: Bool
        /// Whether it may keep a row unchanged without an error, even in a cascade, since it runs before each row.
        let mayKeepRows: Bool
        /// Whether its function may have effects that no rollback undoes: because of its language, or because its text,
        /// or that of a function named in it, names a function of an extension that calls other systems, a foreign
        /// table, or a table with such a trigger.
        package let reachesOutside: Bool
        /// Whether it belongs to Storage itself, by the schema of its function; an app may have others on the same
        /// tables.
        package let isOfStorage: Bool

        /// Whether it is a rule.
        var isRule: Bool { functionNames.isEmpty }
    }

    /// Our role's rights on a table.
    struct Rights: Sendable, Hashable {
        let mayRead: Bool
        let mayDelete: Bool
        /// Whether row-level security applies to our role, so that there may be rows that it does not see.
        let hidesRows: Bool
        /// The changes that the server refuses because of publications.
        var published = Published.harmlessly
    }

    /// The changes that the server refuses on a published table without a replica identity to tell its rows apart.
    enum Published: Sendable, Hashable {
        /// Nothing.
        case harmlessly
        /// Perhaps every delete and update: only some rows or columns are published, perhaps by columns other than
        /// those that identify rows; or each of its partitions may have an identity of its own.
        case perhapsRefusing
        /// Every delete, every update, or both.
        case refusing(deletes: Bool, updates: Bool)

        /// Whether the server certainly refuses every delete.
        var refusesDeletes: Bool { if case .refusing(deletes: true, updates: _) = self { true } else { false } }

        /// Whether the server certainly refuses every update.
        var refusesUpdates: Bool { if case .refusing(deletes: _, updates: true) = self { true } else { false } }
    }

    var foreignKeys: [ForeignKey]
    package var triggers: [Trigger]
    var rights: [TableName: Rights]
    /// The partitioned table at the top level of each partition, at any depth.
    var partitionRoots: [TableName: TableName]
    /// The table of profiles, where `public.profiles` has a one-column primary key that refers to `auth.users`.
    var profiles: Profiles?

    /// The table of profiles and the columns that matter here.
    struct Profiles: Sendable, Hashable {
        let table: TableName
        /// The primary key, which is the user id.
        let key: String
        let hasAvatarURL: Bool
        /// Its text columns, of any string type.
        let texts: [String]
        /// Its columns that contain texts: JSON, and arrays of texts or of JSON.
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
    ///
    /// Call this in a transaction: behind a transaction pooler, only transactions have the setting that turns JIT off.
    /// Compiling these queries takes seconds, running them some milliseconds.
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
