import Postgres

extension ForeignKey {
    /// The condition of rows that refer by this key to rows of which a condition holds.
    func refers(toRowsWhere condition: Statement) -> Statement {
        let columns = Statement(unsafeSQL: self.columns.map(quoteIdentifier).joined(separator: ", "))
        let targets = Statement(unsafeSQL: targetColumns.map(quoteIdentifier).joined(separator: ", "))
        return """
            (\(columns)) in (
                select \(targets)
                from \(identifier: target.schema).\(identifier: target.name)
                where \(condition)
            )
            """
    }
}
