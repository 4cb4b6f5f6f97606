import Postgres

extension DeletionPlan {
    /// Sees to it that the account's own profile and the rows of some tables are found by the same keys as when the plan
    /// was made, until the transaction ends.
    ///
    /// A migration of the app may have given a column's name to another: the rows of which a condition of the plan holds
    /// would be other people's, and the server would let them be deleted. The tables are locked before the catalog is
    /// read, so that none comes in between.
    ///
    /// - Throws: ``PlanOvertaken``; `PostgresError`.
    func requireKeys(to tables: [TableName], on connection: isolated Connection) throws {
        let keys = keys(to: tables).union([ownKey].compactMap(\.self))
        let passed = Set(keys.flatMap { [$0.table, $0.target] }).sorted().map { $0.rows(isPartitioned: false) }
        guard let first = passed.first else { return }
        do {
            let all = passed.dropFirst().reduce(first) { $0 + ", " + $1 }
            try connection.execute("lock table \(all) in access share mode")
        } catch SQLState.undefinedTable {
            throw PlanOvertaken()
        }
        // By name: to read all of many takes the server longer than a batch of rows.
        let named = try DeletionCatalog.readForeignKeys(named: Set(keys.map(\.name)).sorted(), on: connection)
        let present = Dictionary(grouping: named, by: \.table)
        guard keys.allSatisfy({ key in present[key.table]?.contains { key.leadsAs($0) } ?? false }) else {
            throw PlanOvertaken()
        }
    }

    /// The keys over which rows of some tables are reached.
    private func keys(to tables: [TableName]) -> Set<ForeignKey> {
        let reachedBy = Dictionary(parts.map { ($0.table, $0.reachedBy) }) { first, _ in first }
        var found: Set<ForeignKey> = []
        var left = tables
        while let table = left.popLast() {
            for key in reachedBy[table] ?? [] where found.insert(key).inserted { left.append(key.target) }
        }
        return found
    }
}

extension ForeignKey {
    /// Whether it leads from the same rows to the same by the same rule as one in the catalog, whatever has been counted
    /// or indexed since.
    fileprivate func leadsAs(_ other: ForeignKey) -> Bool {
        name == other.name && table == other.table && columns == other.columns && target == other.target
            && targetColumns == other.targetColumns
            && rule == other.rule
    }
}

/// The app's tables are others than those for which a plan was made.
struct PlanOvertaken: Error {}
