import Postgres

/// The rows that are deleted along with some root rows, by the keys that cascade: as conditions on the rows of each
/// table.
///
/// Self-references are followed once, if they are followed at all for their table. Among n tables that refer to each
/// other, n - 1 keys are followed, as many as lead through all of them; rows further along are deleted by the cascade
/// all the same.
struct CascadeWays {
    /// Rows with which a deletion starts.
    struct Root {
        let condition: Statement
        /// The one column that identifies these rows, and its value, if there is one.
        var key: (column: String, value: Statement)?
    }

    /// A table to which a way has come.
    private struct Stop: Hashable {
        let table: TableName
        /// How many more keys the way follows among the tables that refer to this one and to which it refers.
        let left: Int
        /// Whether the way came by a self-reference.
        var isRepeated = false
    }

    /// The keys by which rows of each table are reached.
    let keys: [TableName: [ForeignKey]]
    let cycles: TableCycles
    let roots: [TableName: Root]
    /// The tables whose self-references are followed.
    let followedWithin: Set<TableName>

    /// The conditions of rows of a table that are deleted: that of its root rows, and one for each key by which rows
    /// are reached.
    func ways(to table: TableName) -> [Statement] {
        let own = roots[table].map { [$0.condition] } ?? []
        return own + onward(from: first(at: table)).map { rows(referringBy: $0.key, to: $0.stop) }
    }

    /// The condition of rows that refer by a key to deleted rows.
    func rows(referringBy key: ForeignKey) -> Statement { rows(referringBy: key, to: first(at: key.target)) }

    private func rows(referringBy key: ForeignKey, to stop: Stop) -> Statement {
        if let condition = rows(referringToRootBy: key, to: stop) { return condition }
        // No way comes back to the stop where it began, so that the first query needs no name.
        return key.refers(to: SharedQueries<Stop>.writing { query(for: key, to: stop, &$0) })
    }

    /// A query for the deleted rows to which a key may refer.
    private func query(for key: ForeignKey, to stop: Stop, _ shared: inout SharedQueries<Stop>) -> Statement {
        var conditions = roots[key.target].map { [$0.condition] } ?? []
        for (further, next) in onward(from: stop) {
            let condition =
                rows(referringToRootBy: further, to: next)
                ?? shared.rows(referringBy: further, to: next) { query(for: further, to: next, &$0) }
            conditions.append(condition)
        }
        return key.targets(whereAny: conditions)
    }

    /// The condition of rows that refer by a key to the root row; nil if they may refer to others.
    private func rows(referringToRootBy key: ForeignKey, to stop: Stop) -> Statement? {
        guard let own = roots[key.target]?.key, key.targetColumns == [own.column], let column = key.columns.first,
            onward(from: stop).isEmpty
        else { return nil }
        return "\(identifier: column) = \(own.value)"
    }

    /// The keys by which rows of a table are reached, each with the table to which it leads.
    private func onward(from stop: Stop) -> [(key: ForeignKey, stop: Stop)] {
        (keys[stop.table] ?? []).compactMap { key -> (key: ForeignKey, stop: Stop)? in
            if key.target == stop.table {
                guard followedWithin.contains(stop.table), !stop.isRepeated else { return nil }
                return (key: key, stop: Stop(table: stop.table, left: stop.left, isRepeated: true))
            }
            guard cycles.join(stop.table, key.target) else { return (key: key, stop: first(at: key.target)) }
            guard stop.left > 0 else { return nil }
            return (key: key, stop: Stop(table: key.target, left: stop.left - 1))
        }
    }

    /// A table to which a way comes from outside its cycles.
    private func first(at table: TableName) -> Stop { Stop(table: table, left: cycles.size(around: table) - 1) }
}
