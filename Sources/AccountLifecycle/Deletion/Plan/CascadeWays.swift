import Postgres

/// The rows that are deleted along with some root rows, by the keys that cascade: as conditions on the rows of each
/// table.
///
/// Cycles are followed once around, and so are self-references, if they are followed at all for their table; rows
/// further along are deleted by the cascade all the same.
struct CascadeWays {
    /// Rows with which a deletion starts.
    struct Root {
        let condition: Statement
        /// The one column that identifies these rows, and its value, if there is one.
        var key: (column: String, value: Statement)?
    }

    /// The keys by which rows of each table are reached.
    let keys: [TableName: [ForeignKey]]
    let roots: [TableName: Root]
    /// The tables whose self-references are followed.
    let followedWithin: Set<TableName>

    /// The conditions of rows of a table that are deleted: that of its root rows, and one for each key by which rows
    /// are reached.
    func ways(to table: TableName, without visited: Set<TableName> = []) -> [Statement] {
        let own = roots[table].map { [$0.condition] } ?? []
        let passed = visited.union([table])
        return own + reaching(table, without: visited).map { rows(referringBy: $0, without: passed) }
    }

    /// The condition of rows that refer by a key to deleted rows.
    func rows(referringBy key: ForeignKey, without visited: Set<TableName> = []) -> Statement {
        if let condition = rows(referringToRootBy: key, without: visited) { return condition }
        var shared = SharedWays(self)
        return shared.rows(referringBy: key, without: visited)
    }

    /// The condition of rows that refer by a key to the root row; nil if they may refer to others.
    func rows(referringToRootBy key: ForeignKey, without visited: Set<TableName>) -> Statement? {
        guard let own = roots[key.target]?.key, key.targetColumns == [own.column], let column = key.columns.first,
            reaching(key.target, without: visited).isEmpty
        else { return nil }
        return "\(identifier: column) = \(own.value)"
    }

    /// The keys by which rows are reached from tables that were not visited yet.
    func reaching(_ table: TableName, without visited: Set<TableName>) -> [ForeignKey] {
        (keys[table] ?? []).filter {
            !visited.contains($0.target) && ($0.target != table || followedWithin.contains(table))
        }
    }
}
