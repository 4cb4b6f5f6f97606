import Postgres

/// The rows that go with some, by the keys that cascade: as conditions of the rows of each table.
///
/// Self-references, of the tables of which these are followed at all, and cycles are followed once around; what lies
/// deeper goes by the cascade all the same.
struct CascadeWays {
    /// Rows that go themselves.
    struct Root {
        let condition: Statement
        /// The one column by which they are told, and its value, where there is such.
        var key: (column: String, value: Statement)?
    }

    /// The keys by which rows of each table are reached.
    let keys: [TableName: [ForeignKey]]
    let roots: [TableName: Root]
    /// The tables of which rows take others of the same table along.
    let followedWithin: Set<TableName>

    /// The conditions of rows of a table that go: of those that do themselves, and one for each key by which they are
    /// reached.
    func ways(to table: TableName, without visited: Set<TableName> = []) -> [Statement] {
        let own = roots[table].map { [$0.condition] } ?? []
        let passed = visited.union([table])
        return own + reaching(table, without: visited).map { rows(referringBy: $0, without: passed) }
    }

    /// The keys by which rows are reached from tables that were not passed yet.
    private func reaching(_ table: TableName, without visited: Set<TableName>) -> [ForeignKey] {
        (keys[table] ?? []).filter {
            !visited.contains($0.target) && ($0.target != table || followedWithin.contains(table))
        }
    }

    /// The condition of rows that refer by a key to rows which go.
    func rows(referringBy key: ForeignKey, without visited: Set<TableName> = []) -> Statement {
        // To the row alone that goes itself.
        if let own = roots[key.target]?.key, key.targetColumns == [own.column], let column = key.columns.first,
            reaching(key.target, without: visited).isEmpty
        {
            return "\(identifier: column) = \(own.value)"
        }
        return key.refers(toRowsWhereAny: ways(to: key.target, without: visited))
    }
}
