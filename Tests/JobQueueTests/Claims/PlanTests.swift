import Postgres
import Testing

@testable import JobQueue

/// The cost of the hot statements under the server's plans: none may scan the table, whatever the statistics say.
@Suite(.timeLimit(.minutes(5))) struct PlanTests {
    static let lanes = [
        Lane(queue: "default", kind: "known.a", timeout: .seconds(60)),
        Lane(queue: "default", kind: "known.b", timeout: .seconds(60)),
    ]

    private func checkHotStatements(_ harness: JobHarness, _ state: String) async throws {
        let queue = harness.queue
        let lanes = Self.lanes
        let worker = try await harness.count("select max(id) from accountctl.workers")
        let held = try await harness.pool.withConnection { connection in
            try connection.query(
                "select id, lease, worker from accountctl.jobs where state = 'running' limit 100",
                as: (Int64, Int64, Int64).self
            )
        }
        let jobs = held.map { JobLease(id: $0.0, lease: $0.1, worker: $0.2) }.sorted(by: JobTables.areInOrder)
        let ending = JobQueue.Ending(outcome: .completed, jobs: jobs)
        let returns = try jobs.map {
            try JobQueue.Return($0, NextTurn(wait: .seconds(9), failure: .init(attempt: 1, error: "slow")))
        }
        let request = JobQueue.ClaimRequest(worker: Int64(worker), limit: 100)
        let bounded = JobQueue.ClaimRequest(
            worker: Int64(worker),
            limit: 100,
            bounds: [ClaimBounds.Key(lane: lanes[0].name, priority: 5): 1]
        )
        for generic in [false, true] {
            let mode = "\(state), \(generic ? "generic" : "custom") plan"
            try await harness.pool.withConnection { connection in
                // A claim of one lane locks jobs as it finds them; a claim of several lanes chooses first.
                for lanes in [lanes, Array(lanes.prefix(1))] {
                    let claims: [(String, Int, [String], Statement)] = [
                        ("claim", 3000, ["Update"], queue.claimStatement(lanes, request)),
                        ("bounded claim", 3000, ["Update"], queue.claimStatement(lanes, bounded)),
                        ("exchange", 6000, ["Delete", "Update"], queue.exchangeStatement(ending, lanes, request)),
                    ]
                    for (name, most, nodes, statement) in claims {
                        let plan = try await QueryPlan.of(statement, generic: generic, on: connection)
                        plan.check("\(name) of \(lanes.count) lanes, \(mode)", most: most, writing: nodes)
                    }
                }
                let alone = JobQueue.ClaimRequest(worker: Int64(worker), limit: 1, suspects: true)
                let suspects = try await QueryPlan.of(
                    queue.claimStatement(lanes, alone),
                    generic: generic,
                    on: connection
                )
                suspects.check("claim of a suspect, \(mode)", most: 600)
                let finish = try await QueryPlan.of(queue.finishStatement(ending), generic: generic, on: connection)
                finish.check("finish, \(mode)", most: 6000, writing: ["Delete"])
                let back = try await QueryPlan.of(queue.givingBack(returns), generic: generic, on: connection)
                back.check("give back, \(mode)", most: 6000, writing: ["Update"])
                let release = try await QueryPlan.of(queue.releasing(jobs), generic: generic, on: connection)
                release.check("release, \(mode)", most: 6000)
                #expect(release.jobsRead == 100)
                let fence = JobFence(queue: queue, job: jobs[0])
                let single = [("fence", fence.held), ("progress", queue.storing(.empty, of: jobs[0]))]
                for (name, statement) in single {
                    let plan = try await QueryPlan.of(statement, generic: generic, on: connection)
                    plan.check("\(name), \(mode)", most: 100)
                }
                for isFull in [false, true] {
                    let promotion = queue.promotion(limit: 1000, lookingAtAll: isFull)
                    let due = try await QueryPlan.of(promotion, generic: generic, on: connection)
                    due.check("promote, \(mode)", most: 100)
                }
            }
        }
    }

    /// A hundred thousand rows of each kind that must not be in the way, first with statistics of the empty table, then
    /// with real ones.
    @Test func hotStatementsUseTheirIndexes() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                "insert into accountctl.workers (name, version, slots, queues, kinds, expires_at) values ('t','1',1,'{}','{}', now())"
            )
            try await harness.execute("analyze accountctl.jobs")
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, run_at)
                select 'default', 'known.' || chr(97 + n % 2), 'scheduled', now() + interval '1 day'
                from generate_series(1, 100000) n
                """
            )
            try await harness.execute(
                "insert into accountctl.jobs (queue, kind) select 'default', 'unknown' from generate_series(1, 100000) n"
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind)
                select 'default', 'known.' || chr(97 + n % 2) from generate_series(1, 20000) n
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, lease, claimed_at)
                select 'default', 'known.a', 'running', (select id from accountctl.workers),
                    nextval('accountctl.job_leases'), 'epoch'
                from generate_series(1, 500) n
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, crashes)
                select 'default', 'known.a', 1 + n % 3 from generate_series(1, 100) n
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, limit_key)
                select 'default', 'keyed', n::text from generate_series(1, 20000) n
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
                select 'default', 'keyed', 'parked', 'limit', 'hot' from generate_series(1, 20000) n
                """
            )
            try await checkHotStatements(harness, "statistics of the empty table")
            try await checkUpkeep(harness, "statistics of the empty table")
            try await harness.execute("analyze accountctl.jobs")
            try await checkHotStatements(harness, "fresh statistics")
            try await checkUpkeep(harness, "fresh statistics")
        }
    }
}
