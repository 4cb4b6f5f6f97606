import Postgres

extension DeletionPlan {
    /// Ensures, until the transaction ends, that the account's own profile and the rows of some tables are found by the
    /// same keys as when the plan was made.
    ///
    /// A migration of the app may have given a column's name to another column: the plan's conditions would then match
    /// other people's rows, and the server would delete them. The tables are locked before the catalog is read, so that
    /// no migration comes in between.
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
        // By name: if there are many keys, reading all of them takes the server longer than deleting a batch of rows.
        let named = try DeletionCatalog.readForeignKeys(named: Set(keys.map(\.name)).sorted(), on: connection)
        let present = Dictionary(grouping: named, by: \.table)
        guard keys.allSatisfy({ key in present[key.table]?.contains { key.leadsAs($0) } ?? false }) else {
            throw PlanOvertaken()
        }
    }

    /// The keys by which rows of some tables are reached.
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
    /// Whether it leads from the same columns to the same by the same rule as a key in the catalog; row estimates and
    /// indexes may have changed.
    fileprivate func leadsAs(_ other: ForeignKey) -> Bool {
        name == other.name && table == other.table && columns == other.columns && target == other.target
            && targetColumns == other.targetColumns
            && rule == other.rule
    }
}

/// The app's tables have changed since the plan was made: a step starts over by a new one.
struct PlanOvertaken: Error {}
