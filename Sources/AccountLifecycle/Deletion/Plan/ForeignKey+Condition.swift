import Postgres

extension ForeignKey {
    /// The rows that can refer: not those of tables that inherit from the table, to which the key does not apply.
    var rows: Statement { table.rows(isPartitioned: isPartitioned) }

    /// The condition of rows that refer by this key to rows that satisfy a condition.
    func refers(toRowsWhere condition: Statement) -> Statement { refers(to: targets(whereAny: [condition])) }

    /// The condition of rows that refer by this key to one of the rows of a query, which selects
    /// ``referencedColumns``.
    func refers(to query: Statement) -> Statement { "(\(Self.list(columns))) in (\(query))" }

    /// A query for the rows of the referenced table that satisfy one of some conditions.
    func targets(whereAny conditions: [Statement]) -> Statement {
        WaysToRows(rows: target.rows(isPartitioned: isTargetPartitioned), conditions: conditions)
            .selecting(referencedColumns)
    }

    /// The referenced columns, as a list.
    var referencedColumns: Statement { Self.list(targetColumns) }

    private static func list(_ columns: [String]) -> Statement {
        Statement(unsafeSQL: columns.map(quoteIdentifier).joined(separator: ", "))
    }
}

extension TableName {
    /// The FROM item for the table's own rows, which are in its partitions if it has any.
    func rows(isPartitioned: Bool) -> Statement {
        isPartitioned ? quoted : "only \(quoted)"
    }
}
