package import Postgres

/// One search for many requests.
package enum SearchPass {
    /// What one request gets out of a pass.
    package typealias Answer = (findings: [Situation.Finding], report: SearchReport)

    /// From how many bytes on the tables are read over two connections: the server uses one core for each.
    private static let parallelFrom: Int64 = 64 << 20

    /// Searches for all targets at once, over one or two connections; rows of objects in buckets that may keep them are
    /// left out.
    package static func run(
        _ targets: [SearchTarget],
        keptBuckets: Set<String>,
        pool: Pool,
        connections: Int = 2
    ) async throws -> [Answer] {
        let catalog = try await pool.withConnection { try await SearchCatalog.readApart(on: $0) }
        let holders = try await IdentifierHolders.find(targets, in: pool)
        let search = { holders in
            let search = IdentifierSearch(targets, holders: holders, keptBuckets: keptBuckets)
            guard connections > 1, catalog.bytes >= parallelFrom else {
                return try await pool.withConnection { try await search.run(catalog.tables, on: $0) }
            }
            let (left, right) = catalog.halves
            async let first = pool.withConnection { try await search.run(left, on: $0) }
            async let second = pool.withConnection { try await search.run(right, on: $0) }
            return try await first.merging(second)
        }
        var report: SearchReport = try await search(holders)
        // The tables may have taken an hour, and whoever signed up again meanwhile is nobody's residue.
        if report.findings.values.joined().contains(where: { $0.identifiers != [.userID] }) {
            let present = try await IdentifierHolders.find(targets, in: pool)
            if present != holders { report = try await search(present) }
        }
        report.unreadable = catalog.unreadable.sorted()
        return targets.map { (report.findings[$0.request] ?? [], report) }
    }
}
