package import Postgres

/// One search for many requests.
package enum SearchPass {
    /// What one request gets out of a pass.
    package typealias Answer = (findings: [Situation.Finding], report: SearchReport)

    /// From how many bytes on the tables are read over two connections: the server uses one core for each.
    private static let parallelFrom: Int64 = 64 << 20

    /// Searches for all targets at once, over one or two connections; rows of objects in buckets that may keep them are left
    /// out.
    package static func run(
        _ targets: [SearchTarget],
        keptBuckets: Set<String>,
        pool: Pool,
        connections: Int = 2
    ) async throws -> [Answer] {
        let (catalog, search) = try await pool.withConnection { connection in
            let holders = try IdentifierHolders.find(targets, on: connection)
            return (
                try SearchCatalog.read(on: connection),
                IdentifierSearch(targets, holders: holders, keptBuckets: keptBuckets)
            )
        }
        var report: SearchReport
        if connections < 2 || catalog.bytes < parallelFrom {
            report = try await pool.withConnection { try search.run(catalog.tables, on: $0) }
        } else {
            let (left, right) = catalog.halves
            async let first = pool.withConnection { try search.run(left, on: $0) }
            async let second = pool.withConnection { try search.run(right, on: $0) }
            report = try await first.merging(second)
        }
        report.unreadable = catalog.unreadable.sorted()
        return targets.map { (report.findings[$0.request] ?? [], report) }
    }
}
