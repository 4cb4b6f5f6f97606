import Postgres

extension ForeignKey {
    /// The rows that can refer: not those of tables that inherit from the table, to which the key does not apply.
    var rows: Statement { table.rows(isPartitioned: isPartitioned) }

    /// The condition of rows that refer by this key to rows that satisfy a condition.
    func refers(toRowsWhere condition: Statement) -> Statement { refers(toRowsWhereAny: [condition]) }

    /// The condition of rows that refer by this key to rows that satisfy one of some conditions.
    func refers(toRowsWhereAny conditions: [Statement]) -> Statement {
        let columns = Statement(unsafeSQL: self.columns.map(quoteIdentifier).joined(separator: ", "))
        let targets = Statement(unsafeSQL: targetColumns.map(quoteIdentifier).joined(separator: ", "))
        let rows = WaysToRows(rows: target.rows(isPartitioned: isTargetPartitioned), conditions: conditions)
        return "(\(columns)) in (\(rows.selecting(targets)))"
    }
}

extension TableName {
    /// The FROM item for the table's own rows, which are in its partitions if it has any.
    func rows(isPartitioned: Bool) -> Statement {
        isPartitioned ? quoted : "only \(quoted)"
    }
}
