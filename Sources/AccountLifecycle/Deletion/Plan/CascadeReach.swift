/// Which tables lose rows along with those of some root tables, by the keys whose rows are deleted along.
struct CascadeReach: Sendable, Hashable {
    /// Roots first, then by distance.
    private(set) var tables: [TableName]
    /// The distance from the nearest root.
    private(set) var depths: [TableName: Int]
    /// The keys by which rows of a table are reached; none for a root to which no key leads.
    private(set) var keys: [TableName: [ForeignKey]] = [:]

    init(from roots: Set<TableName>, by keys: [ForeignKey]) {
        tables = roots.sorted()
        depths = Dictionary(uniqueKeysWithValues: roots.map { ($0, 0) })
        let byTarget = Dictionary(grouping: keys, by: \.target)
        var next = 0
        while next < tables.count {
            let table = tables[next]
            next += 1
            for key in byTarget[table] ?? [] where key.goesAlong {
                self.keys[key.table, default: []].append(key)
                guard depths[key.table] == nil else { continue }
                depths[key.table] = (depths[table] ?? 0) + 1
                tables.append(key.table)
            }
        }
    }

    /// Whether a table loses rows.
    func reaches(_ table: TableName) -> Bool { depths[table] != nil }

    /// Whether keys form a cycle.
    static func hasCycle(_ keys: [ForeignKey]) -> Bool {
        let tables = Set(keys.map(\.table))
        let within = keys.filter { tables.contains($0.target) }
        return within.count == keys.count ? !keys.isEmpty : hasCycle(within)
    }
}
