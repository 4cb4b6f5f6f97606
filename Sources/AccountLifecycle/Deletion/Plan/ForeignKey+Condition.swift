import Postgres

extension ForeignKey {
    /// The rows that can refer: not those of tables that inherit from the table, which have no key.
    var rows: Statement { table.rows(isPartitioned: isPartitioned) }

    /// The condition of rows that refer by this key to rows of which a condition holds.
    func refers(toRowsWhere condition: Statement) -> Statement { refers(toRowsWhereAny: [condition]) }

    /// The condition of rows that refer by this key to rows of which one of some conditions holds.
    func refers(toRowsWhereAny conditions: [Statement]) -> Statement {
        let columns = Statement(unsafeSQL: self.columns.map(quoteIdentifier).joined(separator: ", "))
        let targets = Statement(unsafeSQL: targetColumns.map(quoteIdentifier).joined(separator: ", "))
        let rows = WaysToRows(rows: target.rows(isPartitioned: isTargetPartitioned), conditions: conditions)
        return "(\(columns)) in (\(rows.selecting(targets)))"
    }
}

extension TableName {
    /// What to select and delete its own rows from, which are in its partitions where it has any.
    func rows(isPartitioned: Bool) -> Statement {
        isPartitioned ? "\(identifier: schema).\(identifier: name)" : "only \(identifier: schema).\(identifier: name)"
    }
}
