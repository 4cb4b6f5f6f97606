import Postgres

/// The condition of rows that refer by a key to deleted rows, with everything on the ways to these written once.
///
/// Ways multiply where several keys lead to a table and several lead on from it: where twelve tables each refer to all
/// before them, two thousand lead from the last one, and the server takes many seconds to plan so many. So rows through
/// which several ways lead are selected in a WITH. The rest of a way is the same however it came to them, unless it has
/// passed a table that lies ahead, as ways around a cycle do.
struct SharedWays {
    /// Rows of a table, by the columns to which a key refers, with the ways on from them.
    private struct Place: Hashable {
        let table: TableName
        /// As bytes: Swift takes two spellings of one accented letter for equal.
        let columns: [[UInt8]]
        /// The tables ahead that were passed before.
        let visited: Set<TableName>
    }

    private let ways: CascadeWays
    /// How many keys lead to each place.
    private var uses: [Place: Int] = [:]
    /// The names of the places to which several keys lead.
    private var names: [Place: Statement] = [:]
    /// Their queries, each after those that it names.
    private var queries: [Statement] = []
    /// The tables that lie ahead of a table, by its keys and theirs.
    private var ahead: [TableName: Set<TableName>] = [:]

    init(_ ways: CascadeWays) {
        self.ways = ways
    }

    /// The condition of rows that refer by a key to deleted rows.
    mutating func rows(referringBy key: ForeignKey, without visited: Set<TableName>) -> Statement {
        count(key, without: visited)
        // No way comes back to the place where it began, so that place needs no name.
        let first = query(for: key, without: visited)
        guard let named = queries.first else { return key.refers(to: first) }
        let all = queries.dropFirst().reduce(named) { $0 + ", " + $1 }
        return key.refers(to: "with \(all) \(first)")
    }

    /// Counts the keys that lead to each place, from this key on.
    private mutating func count(_ key: ForeignKey, without visited: Set<TableName>) {
        guard ways.rows(referringToRootBy: key, without: visited) == nil else { return }
        let place = place(of: key, without: visited)
        uses[place, default: 0] += 1
        guard uses[place] == 1 else { return }
        let passed = visited.union([key.target])
        for onward in ways.reaching(key.target, without: visited) { count(onward, without: passed) }
    }

    /// A query for the deleted rows to which a key may refer.
    private mutating func query(for key: ForeignKey, without visited: Set<TableName>) -> Statement {
        var conditions = ways.roots[key.target].map { [$0.condition] } ?? []
        let passed = visited.union([key.target])
        for onward in ways.reaching(key.target, without: visited) {
            conditions.append(condition(of: onward, without: passed))
        }
        return key.targets(whereAny: conditions)
    }

    private mutating func condition(of key: ForeignKey, without visited: Set<TableName>) -> Statement {
        if let condition = ways.rows(referringToRootBy: key, without: visited) { return condition }
        let place = place(of: key, without: visited)
        if uses[place] == 1 { return key.refers(to: query(for: key, without: visited)) }
        if let name = names[place] { return key.refers(toRowsOf: name) }
        let rows = query(for: key, without: visited)
        let name = Statement(unsafeSQL: "way_\(queries.count)")
        names[place] = name
        queries.append("\(name) as (\(rows))")
        return key.refers(toRowsOf: name)
    }

    private mutating func place(of key: ForeignKey, without visited: Set<TableName>) -> Place {
        Place(
            table: key.target,
            columns: key.targetColumns.map { Array($0.utf8) },
            visited: visited.intersection(tables(aheadOf: key.target))
        )
    }

    private mutating func tables(aheadOf table: TableName) -> Set<TableName> {
        if let known = ahead[table] { return known }
        var found: Set<TableName> = []
        var left = [table]
        while let next = left.popLast() {
            left += (ways.keys[next] ?? []).map(\.target).filter { found.insert($0).inserted }
        }
        ahead[table] = found
        return found
    }
}

extension ForeignKey {
    fileprivate func refers(toRowsOf name: Statement) -> Statement {
        refers(to: "select \(referencedColumns) from \(name)")
    }
}
