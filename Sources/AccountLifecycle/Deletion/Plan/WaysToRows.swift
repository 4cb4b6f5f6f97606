import Postgres

/// The rows of a table of which at least one of some conditions holds, looked for by one after another.
///
/// Joined by OR they would have one plan, which reads the whole table although each has an index.
struct WaysToRows: Sendable {
    /// What to select from.
    let rows: Statement
    let conditions: [Statement]

    /// Selects columns of the rows; of a row once for each condition that holds.
    func selecting(_ columns: Statement) -> Statement {
        let ways = ways(selecting: columns)
        return ways.dropFirst().reduce(ways[0]) { $0 + " union all " + $1 }
    }

    /// Counts the rows, up to a limit.
    func counting(upTo limit: Int) -> Statement {
        // Each way has the limit, too: a union takes in all there is before it gives anything out.
        let ways = ways(selecting: "tableoid, ctid").map { way -> Statement in
            "select * from (\(way) limit \(limit)) as way"
        }
        return """
            select count(*)
            from (
                \(ways.dropFirst().reduce(ways[0]) { $0 + " union " + $1 })
                limit \(limit)
            ) as found
            """
    }

    /// Deletes some of the rows.
    ///
    /// One of which several conditions hold takes the places of as many: there may be more while a share of the limit
    /// is gone, which is the limit by the number of conditions.
    func deleting(upTo limit: Int) -> Statement {
        """
        delete from \(rows)
        where (tableoid, ctid) in (
            \(selecting("tableoid, ctid")) limit \(limit)
        )
        """
    }

    /// Deletes all of the rows: the deletes of some each, which may be parts of one statement.
    ///
    /// Not by their places, as the others: one that somebody changes while a delete waits for it has another then, and
    /// would be passed over.
    func deletingAll() -> [Statement] { waysOrNone.map { "delete from \(rows) where \($0)" } }

    /// The rows of each condition.
    private func ways(selecting columns: Statement) -> [Statement] {
        waysOrNone.map { "select \(columns) from \(rows) where \($0)" }
    }

    /// The conditions, or one that holds of no row.
    private var waysOrNone: [Statement] { conditions.isEmpty ? ["false"] : conditions }
}
