import Postgres
import Testing

@testable import JobQueue

/// Plans made while nothing was to do, or for another rush, when many jobs come at once.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RushPlanTests {
    /// The workers' own vacuum, after a rush, counts many pages and few rows.
    ///
    /// Planned for one job, a lane may as well be collected and sorted; then the next rush comes.
    @Test func aRushAfterARushIsNotSorted() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = PlanTests.lanes
            func rush(of jobs: Int) async throws {
                try await harness.execute(
                    """
                    insert into accountctl.jobs (queue, kind)
                    select 'default', 'known.' || chr(97 + n % 2)
                    from generate_series(1, \(jobs)::int) n
                    """
                )
            }
            try await rush(of: 100_000)
            try await harness.execute(
                "delete from accountctl.jobs where id < (select max(id) - 10 from accountctl.jobs)"
            )
            try await harness.pool.withConnection { connection in try queue.vacuum(on: connection) }
            try await rush(of: 100_000)
            try await harness.pool.withConnection { connection in
                let worker = try queue.addWorker(lanes, on: connection)
                let request = JobQueue.ClaimRequest(worker: worker, limit: 100)
                for lanes in [lanes, Array(lanes.prefix(1))] {
                    for generic in [false, true] {
                        let claim = try await QueryPlan.of(
                            queue.claimStatement(lanes, request),
                            generic: generic,
                            on: connection
                        )
                        let name = "claim of \(lanes.count) lanes, generic \(generic)"
                        claim.check(name, most: 3000, writing: ["Update"])
                    }
                }
            }
        }
    }

    /// A session keeps the plan that it made while nothing was to do, and nobody analyzes before the rush comes.
    @Test func plansMadeWhileEmptyServeARush() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = PlanTests.lanes
            try await harness.execute("vacuum analyze accountctl.jobs")
            try await harness.pool.withConnection { connection in
                let request = JobQueue.ClaimRequest(worker: try queue.addWorker(lanes, on: connection), limit: 100)
                // Left to itself the server would weigh the plan for all parameters against others, and might never
                // keep it.
                try connection.execute("set plan_cache_mode = force_generic_plan")
                for _ in 0..<3 { _ = try queue.claim(lanes, request, on: connection) }
                let kept: Statement = """
                    select coalesce(max(generic_plans), 0) from pg_prepared_statements where statement like 'with chosen %'
                    """
                let before = try connection.one(kept, as: Int64.self)
                #expect(before > 0)
                try connection.execute(
                    "insert into accountctl.jobs (queue, kind) select 'default', 'known.a' from generate_series(1, 50000)"
                )
                let scans = try await connection.transaction { connection in
                    #expect(try queue.claim(lanes, request, on: connection).count == 100)
                    return try connection.one(
                        "select seq_scan from pg_stat_xact_user_tables where relid = 'accountctl.jobs'::regclass",
                        as: Int64.self
                    )
                }
                #expect(scans == 0)
                #expect(try connection.one(kept, as: Int64.self) == before + 1)
                try connection.execute("reset plan_cache_mode")
            }
        }
    }
}
