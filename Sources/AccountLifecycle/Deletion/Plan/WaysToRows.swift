import Postgres

/// The rows of a table that satisfy at least one of some conditions, with a query for each condition.
///
/// Combined by OR, the conditions would get one plan, which reads the whole table although each has an index.
struct WaysToRows: Sendable {
    /// The FROM item.
    let rows: Statement
    let conditions: [Statement]

    /// Selects columns of the rows; a row is selected once for each condition that it satisfies.
    func selecting(_ columns: Statement) -> Statement {
        let ways = ways(selecting: columns)
        return ways.dropFirst().reduce(ways[0]) { $0 + " union all " + $1 }
    }

    /// How many rows there are, counted up to a limit.
    func count(upTo limit: Int, deadline: Duration? = nil, on connection: isolated Connection) throws -> Int {
        try connection.one(counting(upTo: limit), as: Int.self, deadline: deadline)
    }

    /// Counts the rows, up to a limit.
    func counting(upTo limit: Int) -> Statement {
        // Each query has the limit, too: a union reads all of its input before it returns anything.
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
    /// A row that satisfies several conditions counts several times towards the limit. So rows may remain although
    /// fewer than `limit` were deleted; none remain if fewer than `limit` divided by the number of conditions were.
    func deleting(upTo limit: Int) -> Statement {
        """
        delete from \(rows)
        where (tableoid, ctid) in (
            \(selecting("tableoid, ctid")) limit \(limit)
        )
        """
    }

    /// Deletes all of the rows: one delete for each condition, which may be parts of one statement.
    ///
    /// Not by `ctid`, as the other queries: a row that somebody updates while a delete waits for it gets another
    /// `ctid`, and would be skipped.
    func deletingAll() -> [Statement] { waysOrNone.map { "delete from \(rows) where \($0)" } }

    /// The query for the rows of each condition.
    private func ways(selecting columns: Statement) -> [Statement] {
        waysOrNone.map { "select \(columns) from \(rows) where \($0)" }
    }

    /// The conditions, or one that no row satisfies.
    private var waysOrNone: [Statement] { conditions.isEmpty ? ["false"] : conditions }
}
