import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How one account's rows leave the database, and what would stop that; made from the catalog's foreign keys.
///
/// Nothing here knows the app's tables: whatever hangs off `auth.users` by a cascading key, directly or onward, is
/// deleted with it; whatever refers to such rows in another way stands in the way when it has rows. The account's own
/// profile goes first, so that it does not matter how its keys are declared; by any other key a profile hangs off
/// accounts as a row of any table does.
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

        /// The rows that keys can reach.
        var rows: Statement { reachedBy.first?.rows ?? table.rows(isPartitioned: false) }
    }

    /// Something that may refuse a delete.
    package enum Question: Sendable, Hashable, CustomStringConvertible {
        case trigger(DeletionCatalog.Trigger)
        /// A key onto rows that no condition here reaches: those further around a cycle, and those of one partition
        /// alone. And one of rows that go along, which we may not delete ourselves.
        case key(ForeignKey)
        /// The checks of rows whose key is set to NULL or a default.
        case checks(TableName)
        /// What tells rows apart where the table is published.
        case identity(TableName)

        package var description: String {
            switch self {
            case .trigger(let trigger): "\(trigger.table).\(trigger.name)"
            case .key(let key): "\(key.table).\(key.name)"
            case .checks(let table): "\(table) (checks)"
            case .identity(let table): "\(table) (replica identity)"
            }
        }
    }

    /// Every table that loses rows, roots first.
    let parts: [Part]
    /// Every table that loses rows, or has a key set to NULL or a default.
    package let touched: [TableName]
    /// Keys onto the tables that lose rows which do not cascade.
    package let refusing: [ForeignKey]
    /// Those of the tables whose rows go along, and refer to others that go by a key with NO ACTION: see
    /// ``deleting(_:)``.
    let tied: [Part]
    /// Keys onto the files of Storage that do not let these go.
    let ontoFiles: [ForeignKey]
    /// Rights that are missing to see what refers by these.
    let faultsOntoFiles: [Blocker]
    /// Keys that are followed without an index.
    package let unindexed: [ForeignKey]
    /// Triggers and rules that run on the way: where rows go, and where a key is set to NULL or a default.
    package let triggers: [DeletionCatalog.Trigger]
    /// The triggers and rules that may do what no rollback takes back.
    package let reachingOutside: [DeletionCatalog.Trigger]
    /// Tables that lose or change rows, and refuse that where they are published.
    let unidentified: [TableName]
    /// What may refuse the delete, and tells only when it is tried.
    let questions: [Question]
    /// Rights that are missing.
    package let faults: [Blocker]
    let profiles: DeletionCatalog.Profiles?

    /// Makes the plan.
    package init(_ catalog: DeletionCatalog) {
        let roots = Set([TableName.users] + (catalog.profiles.map { [$0.table] } ?? []))
        let keys = catalog.foreignKeys.filter { !(catalog.profiles?.isOwn($0) ?? false) }
        let reach = CascadeReach(from: roots, by: keys)
        let lost = Set(reach.tables)
        let onward = keys.filter { lost.contains($0.target) }
        let changed = Set(onward.filter { $0.rule == .setNull || $0.rule == .setDefault }.map(\.table))
        profiles = catalog.profiles
        parts = reach.tables.map { table in
            Part(
                table: table,
                reachedBy: reach.keys[table] ?? [],
                depth: reach.depths[table] ?? 0,
                isDeletable: catalog.rights[table]?.mayDelete ?? false
            )
        }
        touched = lost.union(changed).sorted()
        refusing = onward.filter(\.mayRefuse)
        let files = TableName("storage", "objects")
        ontoFiles = lost.contains(files) ? [] : catalog.foreignKeys.filter { $0.target == files && $0.mayRefuse }
        faultsOntoFiles = Set(ontoFiles.map(\.table)).sorted().flatMap { catalog.faults(of: $0, isRoot: false) }
        unindexed = onward.filter { !$0.isIndexed }
        triggers = catalog.triggersThatRun(onDeleteFrom: lost, onUpdateOf: changed)
        reachingOutside = triggers.filter(\.reachesOutside)
        unidentified = touched.filter { catalog.rights[$0]?.lacksIdentity ?? false }
        // Our own tables refuse nothing.
        let checked = changed.filter { $0.schema != "accountctl" }.sorted()
        let unreached = CascadeReach.hasCycle(onward.filter { $0.rule == .cascade }) ? refusing : []
        let ontoPartitions = catalog.keys(keys, ontoOtherPartitionsOf: lost)
        let within = refusing.filter { $0.rule == .noAction && lost.contains($0.table) }
        tied = parts.filter { part in part.isDeletable && within.contains { $0.table == part.table } }
        let deletable = Set(tied.map(\.table))
        let leftToCascades = within.filter { !deletable.contains($0.table) && !unreached.contains($0) }
        questions =
            triggers.map(Question.trigger) + unidentified.map(Question.identity) + checked.map(Question.checks)
            + (unreached + leftToCascades + ontoPartitions).map(Question.key)
        faults = reach.tables.flatMap { catalog.faults(of: $0, isRoot: roots.contains($0)) }
    }

    /// The rows of a table which an account's deletion takes along.
    ///
    /// Self-references and cycles are followed once around; what lies deeper goes by the cascade all the same, and what
    /// refuses there is told by a trial.
    func goingRows(of part: Part, user: UUID) -> WaysToRows {
        WaysToRows(rows: part.rows, conditions: ways(to: part.table, user: user, without: []))
    }

    /// The rows of a table that an account's deletion takes along before the account and its own profile go.
    func rowsGoingBeforehand(of part: Part, user: UUID) -> WaysToRows {
        let ways = ways(to: part.table, user: user, without: [])
        guard let own = ownRow(in: part.table, of: user) else { return WaysToRows(rows: part.rows, conditions: ways) }
        return WaysToRows(rows: part.rows, conditions: ways.map { "\($0) and not (\(own))" })
    }

    /// The condition that holds of those rows of a table that go with the account.
    func condition(forRowsGoingFrom table: TableName, user: UUID) -> Statement {
        let ways = ways(to: table, user: user, without: [])
        guard let first = ways.first else { return "false" }
        return ways.dropFirst().reduce("(" + first) { $0 + " or " + $1 } + ")"
    }

    /// The conditions of rows of a table that go, one for the account's own row and for each key by which they are
    /// reached.
    private func ways(to table: TableName, user: UUID, without visited: Set<TableName>) -> [Statement] {
        let own = ownRow(in: table, of: user).map { [$0] } ?? []
        let passed = visited.union([table])
        return own + reaching(table, without: visited).map { rows(referringBy: $0, user: user, without: passed) }
    }

    /// The condition of the account's own row, which is the account or its profile.
    func ownRow(in table: TableName, of user: UUID) -> Statement? {
        if table == .users { return "\(identifier: "id") = \(user)" }
        guard let profiles, profiles.table == table else { return nil }
        return "\(identifier: profiles.key) = \(user)"
    }

    /// The keys by which rows are reached from tables that were not passed yet.
    ///
    /// A profile that goes may take others along; elsewhere rows that refer to their own table are mostly one
    /// account's.
    private func reaching(_ table: TableName, without visited: Set<TableName>) -> [ForeignKey] {
        let keys = parts.first { $0.table == table }?.reachedBy ?? []
        return keys.filter { !visited.contains($0.target) && ($0.target != table || table == profiles?.table) }
    }

    /// The condition of rows that refer by a key to rows which go.
    func rows(referringBy key: ForeignKey, user: UUID, without visited: Set<TableName> = []) -> Statement {
        // To the account's own row alone.
        let isByID =
            key.target == .users
            ? key.targetColumns == ["id"] : profiles?.isKey(key.targetColumns, of: key.target) ?? false
        if isByID, reaching(key.target, without: visited).isEmpty, let column = key.columns.first {
            return "\(identifier: column) = \(user)"
        }
        return key.refers(toRowsWhereAny: ways(to: key.target, user: user, without: visited))
    }
}

extension ForeignKey {
    /// Whether it refuses the delete of a row that it refers to.
    fileprivate var mayRefuse: Bool {
        // A hold is looked at by itself, before each step.
        guard table != TableName("accountctl", "holds") else { return false }
        return switch rule {
        case .cascade, .setDefault: false
        case .setNull: hasRequiredColumn
        case .noAction, .restrict: true
        }
    }
}

extension DeletionCatalog.Profiles {
    /// Whether a foreign key is the one by which a profile is its account's own.
    fileprivate func isOwn(_ key: ForeignKey) -> Bool {
        isKey(key.columns, of: key.table) && key.target == .users
    }

    /// Whether these are the columns of the primary key.
    fileprivate func isKey(_ columns: [String], of table: TableName) -> Bool {
        self.table == table && columns == [key]
    }
}
