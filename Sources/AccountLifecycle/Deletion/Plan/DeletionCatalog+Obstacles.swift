extension DeletionCatalog {
    /// The partitioned table to which a partition belongs, at the top level; any other table itself.
    private func root(_ table: TableName) -> TableName { partitionRoots[table] ?? table }

    /// The triggers that run when rows of some tables are deleted, or rows of others updated, including triggers on any
    /// partition of them.
    func triggersThatRun(onDeleteFrom lost: Set<TableName>, onUpdateOf changed: Set<TableName>) -> [Trigger] {
        let (lostRoots, changedRoots) = (Set(lost.map(root)), Set(changed.map(root)))
        return triggers.filter { trigger in
            trigger.runsOnDelete && lostRoots.contains(root(trigger.table))
                || trigger.runsOnUpdate && changedRoots.contains(root(trigger.table))
        }
    }

    /// Whether a trigger may keep rows of a table from being deleted, without an error.
    func mayKeepRows(onDeleteFrom table: TableName) -> Bool {
        triggersThatRun(onDeleteFrom: [table], onUpdateOf: []).contains(where: \.mayKeepRows)
    }

    /// Whether a trigger may keep rows of a table from being changed, without an error.
    func mayKeepRows(onUpdateOf table: TableName) -> Bool {
        triggersThatRun(onDeleteFrom: [], onUpdateOf: [table]).contains(where: \.mayKeepRows)
    }

    /// Those of the keys that refer to a single partition of a table that loses rows.
    func keys(_ keys: [ForeignKey], ontoOtherPartitionsOf lost: Set<TableName>) -> [ForeignKey] {
        let lostRoots = Set(lost.map(root))
        return keys.filter { !lost.contains($0.target) && lostRoots.contains(root($0.target)) }
    }

    /// Whether the server is certain to refuse every delete from a table because it is published.
    func refusesDeletes(from table: TableName) -> Bool { rights[table]?.published.refusesDeletes ?? false }

    /// Whether the server is certain to refuse every update of a table because it is published.
    func refusesUpdates(of table: TableName) -> Bool { rights[table]?.published.refusesUpdates ?? false }

    /// The tables in which the server may refuse changes because they are published.
    ///
    /// Where it refuses nothing in a partitioned table itself, the partitions in which it may refuse them.
    func unidentified(among tables: [TableName]) -> [TableName] {
        let refusing = rights.filter { $0.value.published != .harmlessly }
        let partitions = Dictionary(grouping: refusing.keys.filter { partitionRoots[$0] != nil }, by: root)
        return tables.flatMap { refusing[$0] != nil ? [$0] : (partitions[$0] ?? []).sorted() }
    }

    /// The rights that are missing on a table that loses rows; `isRoot` if we delete from it ourselves.
    func faults(of table: TableName, isRoot: Bool) -> [Fault] {
        guard let rights = self.rights[table] else { return [] }
        var faults: [Fault] = []
        // A cascade runs as the owner of the table; where we delete ourselves we need the right.
        if !rights.mayRead { faults.append(Fault(table: table, right: "SELECT")) }
        if isRoot, !rights.mayDelete { faults.append(Fault(table: table, right: "DELETE")) }
        if rights.hidesRows { faults.append(Fault(table: table, right: nil)) }
        return faults
    }

    /// A right that our role lacks on a table.
    package struct Fault: Sendable, Hashable {
        package let table: TableName
        /// The right; nil if row-level security applies to our role, so that there may be rows that it does not see.
        package let right: String?

        /// The blocker of every deletion.
        package var blocker: Blocker {
            Blocker(
                table: table.description,
                name: nil,
                rows: nil,
                code: right == nil ? .hiddenRows : .missingRight,
                detail: right ?? "row-level security applies to this role"
            )
        }
    }
}
