/// Which tables refer to each other, directly or through others.
struct TableCycles: Sendable, Hashable {
    /// One of the tables that refer to a table and to which it refers, the same for all of these.
    private let first: [TableName: TableName]
    /// How many tables refer to each other, by that one.
    private let sizes: [TableName: Int]

    /// Finds them by Kosaraju's algorithm: whatever refers to a table, and was not left before it on the way along the
    /// keys, is on a cycle with it.
    ///
    /// - Parameter keys: The keys of each table.
    init(_ keys: [TableName: [ForeignKey]]) {
        var seen: Set<TableName> = []
        var left: [TableName] = []
        func follow(_ table: TableName) {
            guard seen.insert(table).inserted else { return }
            for key in keys[table] ?? [] { follow(key.target) }
            left.append(table)
        }
        // In order, so that two plans of one schema are equal.
        for table in keys.keys.sorted() { follow(table) }
        let referring = Dictionary(grouping: keys.values.joined(), by: \.target)
        var first: [TableName: TableName] = [:]
        func gather(_ table: TableName, with one: TableName) {
            guard first[table] == nil else { return }
            first[table] = one
            for key in referring[table] ?? [] { gather(key.table, with: one) }
        }
        for table in left.reversed() { gather(table, with: table) }
        self.first = first
        sizes = Dictionary(grouping: first.values) { $0 }.mapValues(\.count)
    }

    /// How many tables refer to a table and are referred to by it, itself included.
    func size(around table: TableName) -> Int { first[table].flatMap { sizes[$0] } ?? 1 }

    /// Whether two tables refer to each other.
    func join(_ one: TableName, _ other: TableName) -> Bool {
        guard let one = first[one], let other = first[other] else { return false }
        return one == other
    }
}
