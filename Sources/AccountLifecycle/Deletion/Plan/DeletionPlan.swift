import Postgres

/// How one account's rows are deleted from the database, and what would prevent that; made from the catalog's foreign
/// keys.
///
/// Nothing here knows the app's tables: whatever depends on `auth.users` by a cascading key, directly or indirectly, is
/// deleted with it; rows that refer to such rows in another way prevent the delete, unless they are deleted, too. The
/// account's own profile is deleted first, so that it does not matter how its keys are declared; by any other key, a
/// profile depends on accounts like a row of any table.
package struct DeletionPlan: Sendable, Hashable {
    /// A table that loses rows, and how these are reached.
    struct Part: Sendable, Hashable {
        let table: TableName
        /// The keys by which rows of it are reached; empty for the roots.
        let reachedBy: [ForeignKey]
        /// The distance from the root; where there are many rows, children are deleted before their parents.
        let depth: Int
        /// Whether our role may delete from it; a cascade may in any case.
        let isDeletable: Bool

        /// Whether a deletion removes rows that the server would leave.
        var isLeftByTheServer: Bool { reachedBy.contains { $0.rule != .cascade } }

        /// The rows that keys can reach.
        var rows: Statement { reachedBy.first?.rows ?? table.rows(isPartitioned: false) }
    }

    /// Every table that loses rows, roots first.
    let parts: [Part]
    /// Which of these refer to each other.
    let cycles: TableCycles
    /// Every table that loses rows, or in which a key is set to NULL or a default.
    package let touched: [TableName]
    /// Keys that refuse the delete, and refer to tables that lose rows.
    package let refusing: [ForeignKey]
    /// Those of the refusing keys that refer to sessions, or to rows deleted with them: the lock-out deletes these
    /// before any other row, even one that would be deleted with the account.
    package let keepingSessions: [ForeignKey]
    /// Keys that are not in effect, and refer to tables that lose rows: the referring rows would stay.
    package let idle: [ForeignKey]
    /// The tables whose rows we delete before the account's.
    ///
    /// Their rows would be deleted with the account, but a refusing key of theirs refers to other rows that are deleted,
    /// too; or the server would leave them behind. In the order of ``deletingBeforehand(_:)``; tables that refer to each
    /// other form a group.
    let goingBeforehand: [[Part]]
    /// The rows deleted with the account's files, and the obstacles to deleting these.
    package let files: FilePlan
    /// Keys of the app's tables that are followed without an index.
    package let unindexed: [ForeignKey]
    /// Triggers and rules that run on the way: where rows are deleted, and where a key is set to NULL or a default.
    package let triggers: [DeletionCatalog.Trigger]
    /// Triggers and rules on accounts that may run when one is banned, before any row is deleted.
    let triggersOfBan: [DeletionCatalog.Trigger]
    /// The tables, except that of accounts, whose rows a trigger may keep without an error.
    let keepable: [Part]
    /// The keys that a trigger may keep, without an error, from being set to NULL or a default; of tables that we can
    /// read.
    let keepableKeys: [ForeignKey]
    /// Tables that lose or change rows, and may refuse that because they are published.
    let unidentified: [TableName]
    /// Tables that certainly refuse, including those whose rows are deleted with files.
    package let unpublishable: [TableName]
    /// The questions that only a trial can answer: each may refuse the delete.
    let questions: [Question]
    /// Rights that are missing.
    package let faults: [DeletionCatalog.Fault]
    let profiles: DeletionCatalog.Profiles?
    /// The key that makes a profile its account's own.
    let ownKey: ForeignKey?

    /// The triggers and rules that may have effects that no rollback undoes.
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
        cycles = TableCycles(reach.keys)
        touched = lost.union(changed).sorted()
        let refusing = onward.filter(\.mayRefuse)
        self.refusing = refusing
        let withSessions = CascadeReach(from: [.sessions], by: keys)
        let keepingSessions = refusing.filter { withSessions.reaches($0.target) }
        self.keepingSessions = keepingSessions
        files = FilePlan(catalog)
        // Only a table's owner can add an index, so nothing is said about Supabase's tables and accountctl's own.
        let theirs = ["accountctl", "auth", "storage"]
        unindexed = onward.filter { !$0.isIndexed && !theirs.contains($0.table.schema) }
        triggers = catalog.triggersThatRun(onDeleteFrom: lost, onUpdateOf: changed)
        triggersOfBan = catalog.triggersThatRun(onDeleteFrom: [], onUpdateOf: [.users])
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
        // Rows behind refusing keys are counted, so their tables must be readable, too.
        faults = (reach.tables + Set(refusing.map(\.table)).subtracting(lost).sorted())
            .flatMap { catalog.faults(of: $0, isRoot: roots.contains($0)) }
    }
}

extension DeletionCatalog {
    /// A key as a deletion follows it.
    ///
    /// What an identity provider wrote about a person, including names and addresses, would stay without an owner by
    /// its own key: it is deleted with the account instead.
    fileprivate func followed(_ key: ForeignKey) -> ForeignKey {
        guard key.table == .provisioned, key.target == .users, rights[key.table]?.mayDelete == true else { return key }
        var key = key
        key.goesAlong = true
        return key
    }
}

extension DeletionCatalog.Profiles {
    /// Whether a foreign key is the one that makes a profile its account's own.
    fileprivate func isOwn(_ foreignKey: ForeignKey) -> Bool {
        foreignKey.table == table && foreignKey.columns == [key] && foreignKey.target == .users
    }
}
