import Postgres
import Testing

@testable import JobQueue

/// Plans that were made for an empty table, or for another rush, when many jobs come at once.
@Suite(.timeLimit(.minutes(5))) struct RushPlanTests {
    /// After a rush the workers' own vacuum counts many pages and few rows.
    ///
    /// A plan for those few may collect and sort a lane; then the next rush comes.
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

    /// Statements about a held job read only that job, under a plan that was made while the table was empty and
    /// vacuumed: neither all running jobs, nor all that ran since an old snapshot.
    @Test func plansMadeWhileEmptyFindWhatIsHeldByItsID() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.execute("vacuum accountctl.jobs")
            try await harness.pool.withConnection { connection in
                let worker = try queue.addWorker(PlanTests.lanes, on: connection)
                let job = JobLease(id: 0, lease: 0, worker: worker)
                let back = try JobQueue.Return(job, NextTurn())
                let beat = JobQueue.Beat(
                    worker: worker,
                    lifetime: .seconds(600),
                    jobs: [job],
                    isStopping: false,
                    releasesUpTo: nil
                )
                let statements: [(String, @Sendable (isolated Connection) throws -> Void)] = [
                    ("finish", { _ = try queue.finish(.init(outcome: .completed, jobs: [job]), on: $0) }),
                    ("give back", { _ = try queue.giveBack([back], on: $0) }),
                    ("release", { _ = try queue.release([job], on: $0) }),
                    ("look for locked ones", { _ = try queue.locked([job], on: $0) }),
                    ("take overdue", { _ = try queue.takeOverdue([job], alarmed: [:], on: $0) }),
                    ("beat", { _ = try queue.beat(beat, on: $0) }),
                    ("fence", { _ = try $0.first(JobFence(queue: queue, job: job).held, as: Bool.self) }),
                    ("progress", { _ = try $0.execute(queue.storing(.empty, of: job)) }),
                ]
                for (_, run) in statements { try run(connection) }
                try connection.execute(
                    """
                    insert into accountctl.jobs (queue, kind, state, worker, lease)
                    select 'default', 'known.a', 'running', \(worker)::bigint, nextval('accountctl.job_leases')
                    from generate_series(1, 2000)
                    """
                )
                for (name, run) in statements {
                    let entries = try await harness.entries(on: connection, run)
                    #expect(entries < 100, "\(name) read \(entries) entries")
                }
            }
        }
    }

    /// A session keeps the plan that it made for an empty table, and nothing runs ANALYZE before the rush comes.
    @Test func plansMadeWhileEmptyServeARush() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = PlanTests.lanes
            try await harness.execute("vacuum analyze accountctl.jobs")
            try await harness.pool.withConnection { connection in
                let request = JobQueue.ClaimRequest(worker: try queue.addWorker(lanes, on: connection), limit: 100)
                // By default the server would compare the generic plan with custom ones, and might never keep it.
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
