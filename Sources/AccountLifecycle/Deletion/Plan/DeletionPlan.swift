import Postgres

/// How one account's rows leave the database, and what would stop that; made from the catalog's foreign keys.
///
/// Nothing here knows the app's tables: whatever hangs off `auth.users` by a cascading key, directly or onward, is
/// deleted with it; whatever refers to such rows in another way stands in the way when it has rows which do not go
/// along. The account's own profile goes first, so that it does not matter how its keys are declared; by any other key a
/// profile hangs off accounts as a row of any table does.
package struct DeletionPlan: Sendable, Hashable {
    /// A table that loses rows, and which.
    struct Part: Sendable, Hashable {
        let table: TableName
        /// The keys by which rows of it are reached; empty for the roots.
        let reachedBy: [ForeignKey]
        /// The distance from the root; children are deleted before their parents when they are many.
        let depth: Int
        /// Whether our role may delete from it; the cascade may in any case.
        let isDeletable: Bool

        /// Whether the server would leave some of its rows, which a deletion takes along.
        var isLeftByTheServer: Bool { reachedBy.contains { $0.rule != .cascade } }

        /// The rows that keys can reach.
        var rows: Statement { reachedBy.first?.rows ?? table.rows(isPartitioned: false) }
    }

    /// Every table that loses rows, roots first.
    let parts: [Part]
    /// Every table that loses rows, or has a key set to NULL or a default.
    package let touched: [TableName]
    /// Keys onto the tables that lose rows which do not cascade.
    package let refusing: [ForeignKey]
    /// Those onto sessions, and onto rows that go with them: the lock-out ends these before any other row goes, also one
    /// that would go with the account.
    package let keepingSessions: [ForeignKey]
    /// Keys onto the tables that lose rows which do not act: the rows that refer by them would stay.
    package let idle: [ForeignKey]
    /// Those of the tables whose rows go along, and refer to others that do by a key that does not let these go; and what
    /// the server would leave.
    ///
    /// In the order of ``deletingBeforehand(_:)``; together where they refer to each other.
    let goingBeforehand: [[Part]]
    /// What goes with the account's files, and what keeps these.
    package let files: FilePlan
    /// Keys that are followed without an index.
    package let unindexed: [ForeignKey]
    /// Triggers and rules that run on the way: where rows go, and where a key is set to NULL or a default.
    package let triggers: [DeletionCatalog.Trigger]
    /// The tables, less that of accounts, whose rows a trigger may keep without an error.
    let keepable: [Part]
    /// The keys that a trigger may keep so from being set to NULL or a default; of tables that we see.
    let keepableKeys: [ForeignKey]
    /// Tables that lose or change rows, and refuse that, being published.
    let unidentified: [TableName]
    /// Tables that certainly do, also where rows go with files.
    package let unpublishable: [TableName]
    /// What may refuse the delete, and tells only when it is tried.
    let questions: [Question]
    /// Rights that are missing.
    package let faults: [Blocker]
    let profiles: DeletionCatalog.Profiles?
    /// The key by which a profile is its account's own.
    let ownKey: ForeignKey?

    /// The triggers and rules that may do what no rollback takes back.
    package var reachingOutside: [DeletionCatalog.Trigger] { triggers.filter(\.reachesOutside) }

    /// Makes the plan.
    package init(_ catalog: DeletionCatalog) {
        let roots = Set([TableName.users] + (catalog.profiles.map { [$0.table] } ?? []))
        let keys = catalog.foreignKeys.filter { !(catalog.profiles?.isOwn($0) ?? false) }.map(catalog.followed)
        let reach = CascadeReach(from: roots, by: keys)
        let lost = Set(reach.tables)
        let onward = keys.filter { lost.contains($0.target) }
        let changed = Set(onward.filter(\.mayChange).map(\.table))
        profiles = catalog.profiles
        ownKey = catalog.foreignKeys.first { catalog.profiles?.isOwn($0) ?? false }
        parts = reach.tables.map { table in
            Part(
                table: table,
                reachedBy: reach.keys[table] ?? [],
                depth: reach.depths[table] ?? 0,
                isDeletable: catalog.rights[table]?.mayDelete ?? false
            )
        }
        touched = lost.union(changed).sorted()
        let refusing = onward.filter(\.mayRefuse)
        self.refusing = refusing
        let withSessions = CascadeReach(from: [.sessions], by: keys)
        let keepingSessions = refusing.filter { withSessions.reaches($0.target) }
        self.keepingSessions = keepingSessions
        files = FilePlan(catalog)
        unindexed = onward.filter { !$0.isIndexed }
        triggers = catalog.triggersThatRun(onDeleteFrom: lost, onUpdateOf: changed)
        keepable = parts.filter { $0.table != .users && catalog.mayKeepRows(onDeleteFrom: $0.table) }
        keepableKeys = onward.filter { key in
            key.mayChange && catalog.faults(of: key.table, isRoot: false).isEmpty
                && catalog.mayKeepRows(onUpdateOf: key.table)
        }
        unidentified = catalog.unidentified(among: touched)
        let refused =
            catalog.unidentified(among: lost.sorted()).filter { catalog.refusesDeletes(from: $0) }
            + catalog.unidentified(among: changed.sorted()).filter { catalog.refusesUpdates(of: $0) }
        unpublishable = files.refusingDeletes.union(files.refusingUpdates).union(refused).sorted()
        // Our own tables refuse nothing.
        let checked = changed.filter { $0.schema != "accountctl" }.sorted()
        let unreached = CascadeReach.hasCycle(onward.filter(\.goesAlong)) ? refusing : []
        let ontoPartitions = catalog.keys(keys, ontoOtherPartitionsOf: lost)
        idle = (onward + ontoPartitions).filter { $0.action != .taken }
        let within = refusing.filter { lost.contains($0.table) }
        let beforehand = parts.filter { part in
            part.isDeletable && (part.isLeftByTheServer || within.contains { $0.table == part.table })
        }
        goingBeforehand = Self.ordered(beforehand, by: keys, refusing: refusing)
        let deletable = Set(beforehand.map(\.table))
        let untold = within.filter { key in
            (!deletable.contains(key.table) || keepingSessions.contains(key)) && !unreached.contains(key)
        }
        questions =
            triggers.map(Question.trigger) + unidentified.map(Question.identity) + checked.map(Question.checks)
            + (unreached + untold + ontoPartitions).map(Question.key)
        // What refuses is counted, too.
        faults = (reach.tables + Set(refusing.map(\.table)).subtracting(lost).sorted())
            .flatMap { catalog.faults(of: $0, isRoot: roots.contains($0)) }
    }
}

extension DeletionCatalog {
    /// A key as a deletion follows it.
    ///
    /// What an identity provider wrote of a person, names and addresses among it, stays by its key, as nobody's: it goes
    /// with the account.
    fileprivate func followed(_ key: ForeignKey) -> ForeignKey {
        guard key.table == .provisioned, key.target == .users, rights[key.table]?.mayDelete == true else { return key }
        var key = key
        key.goesAlong = true
        return key
    }
}

extension DeletionCatalog.Profiles {
    /// Whether a foreign key is the one by which a profile is its account's own.
    fileprivate func isOwn(_ foreignKey: ForeignKey) -> Bool {
        foreignKey.table == table && foreignKey.columns == [key] && foreignKey.target == .users
    }
}
