import Postgres
import Testing

/// The cost of a statement as the server reports it.
struct QueryPlan {
    let text: String

    /// Runs the statement under EXPLAIN ANALYZE, then rolls it back.
    static func of(
        _ statement: Statement,
        generic: Bool,
        on connection: isolated Connection
    ) async throws -> QueryPlan {
        struct Undo: Error {}
        var lines: [String] = []
        do {
            try await connection.transaction { connection in
                try connection.execute(
                    "set local plan_cache_mode = \(unsafeSQL: generic ? "force_generic_plan" : "force_custom_plan")"
                )
                lines = try connection.query(
                    "explain (analyze, buffers, timing off, costs off) \(statement)",
                    as: String.self
                )
                throw Undo()
            }
        } catch is Undo {}
        return QueryPlan(text: lines.joined(separator: "\n"))
    }

    /// How many pages the statement read; those dirtied or written depend on checkpoints of others, and do not count.
    var buffers: Int {
        // The first line with counts is that of the whole statement.
        guard let line = text.split(separator: "\n").first(where: { $0.contains("Buffers:") }) else { return 0 }
        return line.matches(of: /(?:hit|read)=(\d+)/).compactMap { Int($0.1) }.reduce(0, +)
    }

    /// The most rows that one scan of the jobs returned in one execution.
    var jobsRead: Int {
        text.matches(of: /Scan (?:using \w+ )?on jobs(?: \w+)? \(actual rows=(\d+)/)
            .compactMap { Int($0.1) }
            .max() ?? 0
    }

    /// How many jobs the plan's `Update` or `Delete` wrote.
    func jobs(writtenBy node: String) -> Int {
        guard let line = text.split(separator: "\n").first(where: { $0.contains("\(node) on jobs") }),
            let rows = line.firstMatch(of: /actual rows=(\d+)/)
        else { return 0 }
        return Int(rows.1) ?? 0
    }

    /// Expects the statement to use indexes within `most` pages.
    ///
    /// A statement that finds nothing would be cheap whatever its plan: each of `nodes` has to write a hundred jobs.
    func check(_ name: String, most: Int, writing nodes: [String] = []) {
        for node in nodes {
            #expect(jobs(writtenBy: node) == 100, "\(name) does not do its work:\n\(text)")
        }
        #expect(!text.contains("Seq Scan on jobs"), "\(name) walks over the table:\n\(text)")
        // A scan in index order stops at the limit; a plan that sorts reads the whole lane.
        #expect(jobsRead <= 100, "\(name) reads \(jobsRead) jobs:\n\(text)")
        #expect(buffers <= most, "\(name) touched \(buffers) pages:\n\(text)")
    }
}
