extension DeletionCatalog {
    /// The table that the rows of a table belong to as a whole, where it is a partition; else the table.
    private func root(_ table: TableName) -> TableName { partitionRoots[table] ?? table }

    /// The triggers that run where rows of some tables are deleted, or of others updated: at any partition of them.
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

    /// The keys, of some, that refer to one partition alone of a table that loses rows.
    func keys(_ keys: [ForeignKey], ontoOtherPartitionsOf lost: Set<TableName>) -> [ForeignKey] {
        let lostRoots = Set(lost.map(root))
        return keys.filter { !lost.contains($0.target) && lostRoots.contains(root($0.target)) }
    }

    /// Whether the server certainly refuses every delete from a table, being published.
    func refusesDeletes(from table: TableName) -> Bool { rights[table]?.published.refusesDeletes ?? false }

    /// Whether the server certainly refuses every update of a table, being published.
    func refusesUpdates(of table: TableName) -> Bool { rights[table]?.published.refusesUpdates ?? false }

    /// Those of some tables of which the server may refuse to change rows, being published; of a table of which it does not
    /// its partitions.
    func unidentified(among tables: [TableName]) -> [TableName] {
        let refusing = rights.filter { $0.value.published != .harmlessly }
        let partitions = Dictionary(grouping: refusing.keys.filter { partitionRoots[$0] != nil }, by: root)
        return tables.flatMap { refusing[$0] != nil ? [$0] : (partitions[$0] ?? []).sorted() }
    }

    /// The rights that are missing on a table that loses rows; a root is one that we delete from ourselves.
    func faults(of table: TableName, isRoot: Bool) -> [Blocker] {
        guard let rights = self.rights[table] else { return [] }
        var faults: [Blocker] = []
        func fault(_ code: Situation.Code, _ detail: String) {
            faults.append(Blocker(table: table.description, name: nil, rows: nil, code: code, detail: detail))
        }
        // A cascade runs as the owner of the table; what we delete ourselves needs our own right.
        if !rights.mayRead { fault(.missingRight, "SELECT") }
        if isRoot, !rights.mayDelete { fault(.missingRight, "DELETE") }
        if rights.hidesRows { fault(.hiddenRows, "row-level security applies to this role") }
        return faults
    }
}
