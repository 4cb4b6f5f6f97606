import Postgres

/// The rows of a table of which at least one of some conditions holds, looked for by one after another.
///
/// Joined by OR they would have one plan, which reads the whole table although each has an index.
struct WaysToRows: Sendable {
    /// What to select from.
    let rows: Statement
    let conditions: [Statement]

    /// Selects columns of the rows; of a row once for each condition that holds.
    func selecting(_ columns: Statement) -> Statement { selecting(columns, joinedBy: " union all ") }

    /// Counts the rows, up to a limit.
    func counting(upTo limit: Int) -> Statement {
        """
        select count(*)
        from (
            \(selecting("tableoid, ctid", joinedBy: " union "))
            limit \(limit)
        ) as found
        """
    }

    /// Deletes some of the rows.
    ///
    /// One of which several conditions hold takes the places of as many: there may be more while a share of the limit is gone, which is
    /// the limit by the number of conditions.
    func deleting(upTo limit: Int) -> Statement {
        """
        delete from \(rows)
        where (tableoid, ctid) in (
            \(selecting("tableoid, ctid"))
            limit \(limit)
        )
        """
    }

    private func selecting(_ columns: Statement, joinedBy word: Statement) -> Statement {
        func selecting(where condition: Statement) -> Statement {
            "select \(columns) from \(rows) where \(condition)"
        }
        guard let first = conditions.first else { return selecting(where: "false") }
        return conditions.dropFirst().reduce(selecting(where: first)) { $0 + word + selecting(where: $1) }
    }
}
