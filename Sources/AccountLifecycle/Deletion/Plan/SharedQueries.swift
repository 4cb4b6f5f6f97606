import Postgres

/// Queries for the rows to which keys refer, each written once however many ways lead to its rows.
///
/// Ways multiply where several keys lead to a table and several lead on from it: where twelve tables each refer to all
/// before them, two thousand lead from the last one, and the server takes many seconds to plan so many. So rows to which
/// several keys lead are selected in a WITH.
struct SharedQueries<Rows: Hashable> {
    /// Rows, by the columns to which a key refers.
    private struct Place: Hashable {
        let rows: Rows
        /// As bytes: Swift takes two spellings of one accented letter for equal.
        let columns: [[UInt8]]
    }

    /// The places to which several keys lead; nil while that is being counted.
    private let shared: Set<Place>?
    /// How many keys lead to each place.
    private var uses: [Place: Int] = [:]
    /// The names of the places that have one.
    private var names: [Place: Statement] = [:]
    /// Their queries, each after those that it names.
    private var queries: [Statement] = []

    private init(shared: Set<Place>?) {
        self.shared = shared
    }

    /// A query, with those that it shares in a WITH; it is written twice, first to count the keys that lead to each place.
    static func writing(_ query: (inout SharedQueries) -> Statement) -> Statement {
        var counted = SharedQueries(shared: nil)
        _ = query(&counted)
        var written = SharedQueries(shared: Set(counted.uses.filter { $0.value > 1 }.keys))
        let last = query(&written)
        guard let first = written.queries.first else { return last }
        let all = written.queries.dropFirst().reduce(first) { $0 + ", " + $1 }
        return "with \(all) \(last)"
    }

    /// The condition of rows that refer by a key to some rows, which a query selects by the columns to which the key
    /// refers.
    mutating func rows(
        referringBy key: ForeignKey,
        to rows: Rows,
        _ query: (inout SharedQueries) -> Statement
    ) -> Statement {
        let place = Place(rows: rows, columns: key.targetColumns.map { Array($0.utf8) })
        uses[place, default: 0] += 1
        if let name = names[place] { return key.refers(toRowsOf: name) }
        let selecting = query(&self)
        if let shared, !shared.contains(place) { return key.refers(to: selecting) }
        let name = Statement(unsafeSQL: "way_\(queries.count)")
        names[place] = name
        queries.append("\(name) as (\(selecting))")
        return key.refers(toRowsOf: name)
    }
}

extension ForeignKey {
    fileprivate func refers(toRowsOf name: Statement) -> Statement {
        refers(to: "select \(referencedColumns) from \(name)")
    }
}
