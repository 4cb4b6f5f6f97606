package import Postgres

/// One search for many requests.
package enum SearchPass {
    /// The result of a pass for one request.
    package typealias Answer = (findings: [Situation.Finding], report: SearchReport)

    /// From how many bytes on the tables are read over two connections, since the server uses one core for each.
    private static let parallelFrom: Int64 = 64 << 20

    /// How many times a search reads the catalog at most: it has to end even if the app creates tables all the time.
    ///
    /// A table that is newer than the last reading counts as written during the search, which the receipt names.
    private static let mostReadings = 20

    /// Searches for all targets at once, over one or two connections; rows of objects in buckets that may keep them are
    /// left out.
    package static func run(
        _ targets: [SearchTarget],
        keptBuckets: Set<String>,
        pool: Pool,
        connections: Int = 2
    ) async throws -> [Answer] {
        let holders = try await IdentifierHolders.find(targets, in: pool)
        var report = try await searchAll(
            IdentifierSearch(targets, holders: holders, keptBuckets: keptBuckets),
            over: connections,
            in: pool
        )
        // The search may have taken an hour; the rows of a person who signed up again meanwhile are not residue.
        if report.findings.values.joined().contains(where: { $0.identifiers != [.userID] }) {
            let present = try await IdentifierHolders.find(targets, in: pool)
            if present != holders {
                report = try await searchAll(
                    IdentifierSearch(targets, holders: present, keptBuckets: keptBuckets),
                    over: connections,
                    in: pool
                )
            }
        }
        return targets.map { (report.findings[$0.request] ?? [], report) }
    }

    /// Searches until every table has been searched under its current names.
    ///
    /// A migration of the app may create tables during the search, or give a table's or column's name to another one:
    /// what was searched under that name is then not what the catalog had listed.
    private static func searchAll(
        _ search: IdentifierSearch,
        over connections: Int,
        in pool: Pool
    ) async throws -> SearchReport {
        var report = SearchReport()
        var searched: [Int64: SearchCatalog.Table] = [:]
        for _ in 0..<mostReadings {
            let catalog = try await pool.withConnection { try await SearchCatalog.readApart(on: $0) }
            report.unreadable = catalog.unreadable.sorted()
            let new = SearchCatalog(
                tables: catalog.tables.filter { !(searched[$0.oid]?.hasNames(of: $0) ?? false) },
                unreadable: []
            )
            guard !new.tables.isEmpty else { return report }
            for table in new.tables {
                if let former = searched.updateValue(table, forKey: table.oid) { report.forget(former) }
            }
            let found: SearchReport
            if connections > 1, new.bytes >= parallelFrom {
                let (left, right) = new.halves
                async let first = pool.withConnection { try await search.run(left, on: $0) }
                async let second = pool.withConnection { try await search.run(right, on: $0) }
                found = try await first.merging(second)
            } else {
                found = try await pool.withConnection { try await search.run(new.tables, on: $0) }
            }
            report = report.merging(found)
        }
        return report
    }
}
