import Foundation
import Postgres
import Testing

@testable import JobQueue

/// What the hot statements cost, as the server plans them: none may walk over the table, whatever the statistics say.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PlanTests {
    struct Plan {
        let text: String
        var buffers: Int {
            // The first line with counts is that of the whole statement.
            guard let line = text.split(separator: "\n").first(where: { $0.contains("Buffers:") }) else { return 0 }
            return line.split(whereSeparator: { $0 == " " || $0 == "=" }).compactMap { Int($0) }.reduce(0, +)
        }

        /// How many jobs the scan that found most of them read each time.
        var jobsRead: Int {
            text.matches(of: /Scan (?:using \w+ )?on jobs(?: \w+)? \(actual rows=(\d+)/)
                .compactMap { Int($0.1) }
                .max() ?? 0
        }

        /// How many jobs an `Update` or a `Delete` wrote.
        func jobs(writtenBy node: String) -> Int {
            guard let line = text.split(separator: "\n").first(where: { $0.contains("\(node) on jobs") }),
                let rows = line.firstMatch(of: /actual rows=(\d+)/)
            else { return 0 }
            return Int(rows.1) ?? 0
        }
    }

    private let lanes = [
        Lane(queue: "default", kind: "known.a", timeout: .seconds(60)),
        Lane(queue: "default", kind: "known.b", timeout: .seconds(60)),
    ]

    /// Explains by running, then undoes it.
    private func explain(_ statement: Statement, generic: Bool, on connection: isolated Connection) async throws -> Plan
    {
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
        return Plan(text: lines.joined(separator: "\n"))
    }

    /// A statement that finds nothing costs nothing: each of `nodes` is to write a hundred jobs.
    private func check(_ plan: Plan, _ name: String, most: Int, writing nodes: [String] = []) {
        for node in nodes {
            #expect(plan.jobs(writtenBy: node) == 100, "\(name) does not do its work:\n\(plan.text)")
        }
        #expect(!plan.text.contains("Seq Scan on jobs"), "\(name) walks over the table:\n\(plan.text)")
        // What finds them by their order stops at so many; what collects them to sort them reads the whole lane.
        #expect(plan.jobsRead <= 100, "\(name) reads \(plan.jobsRead) jobs:\n\(plan.text)")
        #expect(plan.buffers <= most, "\(name) touched \(plan.buffers) pages:\n\(plan.text)")
    }

    private func checkHotStatements(_ harness: JobHarness, _ state: String) async throws {
        let queue = harness.queue
        let lanes = self.lanes
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
                // A claim of one lane locks as it looks; one of several chooses before.
                for lanes in [lanes, Array(lanes.prefix(1))] {
                    let claims: [(String, Int, [String], Statement)] = [
                        ("claim", 3000, ["Update"], queue.claimStatement(lanes, request)),
                        ("bounded claim", 3000, ["Update"], queue.claimStatement(lanes, bounded)),
                        ("exchange", 6000, ["Delete", "Update"], queue.exchangeStatement(ending, lanes, request)),
                    ]
                    for (name, most, nodes, statement) in claims {
                        let plan = try await explain(statement, generic: generic, on: connection)
                        check(plan, "\(name) of \(lanes.count) lanes, \(mode)", most: most, writing: nodes)
                    }
                }
                let alone = JobQueue.ClaimRequest(worker: Int64(worker), limit: 1, suspects: true)
                let suspects = try await explain(queue.claimStatement(lanes, alone), generic: generic, on: connection)
                check(suspects, "claim of a suspect, \(mode)", most: 600)
                let finish = try await explain(queue.finishStatement(ending), generic: generic, on: connection)
                check(finish, "finish, \(mode)", most: 6000, writing: ["Delete"])
                let back = try await explain(queue.givingBack(returns), generic: generic, on: connection)
                check(back, "give back, \(mode)", most: 6000, writing: ["Update"])
                let release = try await explain(queue.releasing(jobs), generic: generic, on: connection)
                check(release, "release, \(mode)", most: 6000)
                #expect(release.jobsRead == 100)
                let fence = JobFence(queue: queue, job: jobs[0])
                let single = [("fence", fence.held), ("progress", queue.storing(.empty, of: jobs[0]))]
                for (name, statement) in single {
                    let plan = try await explain(statement, generic: generic, on: connection)
                    check(plan, "\(name), \(mode)", most: 100)
                }
                for isFull in [false, true] {
                    let promotion = queue.promotion(limit: 1000, lookingAtAll: isFull)
                    let due = try await explain(promotion, generic: generic, on: connection)
                    check(due, "promote, \(mode)", most: 100)
                }
            }
        }
    }

    /// A hundred thousand of each thing that must not be in the way; statistics taken while the table was empty, then
    /// real ones.
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

    /// What runs every few seconds beside these: so many rows it may fetch, and none by walking over the table.
    private func checkUpkeep(_ harness: JobHarness, _ state: String) async throws {
        typealias Body = @Sendable (isolated Connection) async throws -> Void
        let queue = harness.queue
        let lanes = self.lanes
        let worker = Int64(try await harness.count("select max(id) from accountctl.workers"))
        let held = try await harness.pool.withConnection { connection in
            try connection.query(
                "select id, lease, worker from accountctl.jobs where state = 'running' limit 100",
                as: (Int64, Int64, Int64).self
            )
        }
        let beat = JobQueue.Beat(
            worker: worker,
            lifetime: .seconds(60),
            jobs: held.map { JobLease(id: $0.0, lease: $0.1, worker: $0.2) },
            isStopping: false,
            releasesUpTo: .max
        )
        let claim = JobQueue.ClaimRequest(worker: worker, limit: 10)
        let keyed = Lane(queue: "default", kind: "keyed", timeout: .seconds(60))
        let keepHundred: Body = { connection in
            let answer = try #require(try queue.beat(beat, on: connection))
            #expect(answer.held.count == 100)
            // All others have leases up to the one it names.
            #expect(answer.released == 400)
        }
        let bodies: [(String, Int, Body)] = [
            ("beat", 1200, keepHundred),
            ("look for suspects", 10, { _ = try queue.hasSuspects(lanes, on: $0) }),
            ("rescue", 1200, { _ = try queue.rescue(on: $0) }),
            ("take overdue", 1200, { _ = try queue.takeOverdue(grace: .zero, alarmed: [:], on: $0) }),
            ("age", 10, { _ = try queue.age(lanes, after: .seconds(600), on: $0) }),
            ("limited claim", 1200, { _ = try queue.claimLimitedLocked(lanes, claim, on: $0) }),
            ("keyed claim", 1200, { _ = try queue.claimLimitedLocked([keyed], claim, on: $0) }),
            ("unique insert", 10, { _ = try queue.enqueue([NewJob(kind: "k", queue: "q", uniqueKey: "u")], on: $0) }),
        ]
        let counts: Statement = """
            select seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where relid = 'accountctl.jobs'::regclass
            """
        struct Undo: Error {}
        for mode in ["force_custom_plan", "force_generic_plan"] {
            for (name, most, body) in bodies {
                do {
                    try await harness.pool.withTransaction { connection in
                        try connection.execute("set local plan_cache_mode = \(unsafeSQL: mode)")
                        try connection.execute(
                            """
                            insert into accountctl.job_limits (kind, max_running, max_running_per_key)
                            values ('known.a', 600, null), ('keyed', null, 1)
                            """
                        )
                        // What transactions before it did may be among them still.
                        let (scansBefore, rowsBefore) = try connection.one(counts, as: (Int64, Int64).self)
                        try await body(connection)
                        let (scans, rows) = try connection.one(counts, as: (Int64, Int64).self)
                        #expect(scans == scansBefore, "\(name), \(state), \(mode)")
                        #expect(rows - rowsBefore <= most, "\(name), \(state), \(mode)")
                        throw Undo()
                    }
                } catch is Undo {}
            }
        }
    }

    /// The workers' own vacuum, after a rush, counts many pages and few rows.
    ///
    /// Planned for one job, a lane may as well be collected and sorted; then the next rush comes.
    @Test func aRushAfterARushIsNotSorted() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = self.lanes
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
                        let claim = try await explain(
                            queue.claimStatement(lanes, request),
                            generic: generic,
                            on: connection
                        )
                        let name = "claim of \(lanes.count) lanes, generic \(generic)"
                        check(claim, name, most: 3000, writing: ["Update"])
                    }
                }
            }
        }
    }

    /// A session keeps the plan that it made while nothing was to do, and nobody analyzes before the rush comes.
    @Test func plansMadeWhileEmptyServeARush() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = self.lanes
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

    /// Thousands of jobs that wait for one key are not looked at to learn that their kind is limited still.
    @Test func whatWaitsForAKeyIsNotWalked() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
                select 'default', 'known.a', 'parked', 'limit', 'hot'
                from generate_series(1, 20000)
                """
            )
            try await harness.execute(
                "insert into accountctl.job_limits (kind, max_running_per_key) values ('known.a', 1)"
            )
            for statistics in [false, true] {
                if statistics { try await harness.execute("analyze accountctl.jobs") }
                let plan = try await harness.pool.withConnection { connection in
                    try await explain(harness.queue.unparking(lanes), generic: true, on: connection)
                }
                check(plan, "unpark", most: 20)
            }
        }
    }

    /// Jobs of a paused queue are not even locked: a lock is a write, and every wake-up would make a hundred.
    @Test func aPausedQueueIsNotWalked() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = self.lanes
            try await harness.execute(
                "insert into accountctl.jobs (queue, kind) select 'default', 'known.a' from generate_series(1, 1000)"
            )
            try await harness.pool.withConnection { connection in
                let worker = try queue.addWorker(lanes, on: connection)
                try queue.pause(queue: "default", reason: nil, on: connection)
                for bounds in [nil, [.init(lane: lanes[0].name, priority: 5): 1]] as [ClaimBounds.Start?] {
                    let request = JobQueue.ClaimRequest(worker: worker, limit: 100, bounds: bounds)
                    let claim = try await explain(queue.claimStatement(lanes, request), generic: true, on: connection)
                    #expect(claim.text.contains("LockRows (never executed)"), "\(claim.text)")
                }
            }
        }
    }
}
