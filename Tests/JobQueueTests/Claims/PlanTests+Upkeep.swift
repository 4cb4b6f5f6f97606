import Postgres
import Testing

@testable import JobQueue

extension PlanTests {
    /// Checks the upkeep that runs every few seconds: each statement has a bound on the rows that it reads, and none
    /// scans the table.
    func checkUpkeep(_ harness: JobHarness, _ state: String) async throws {
        typealias Body = @Sendable (isolated Connection) async throws -> Void
        let queue = harness.queue
        let lanes = Self.lanes
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
        let bounded = JobQueue.ClaimRequest(
            worker: worker,
            limit: 10,
            suspects: true,
            bounds: ClaimBounds.Start(bounds: [:], floor: 1)
        )
        let keyed = Lane(queue: "default", kind: "keyed", timeout: .seconds(60))
        let unused = Lane(queue: "default", kind: "unused", timeout: .seconds(60))
        func looks(_ lanes: [Lane], _ finds: Bool) -> Body {
            { connection in
                let mayTake = try queue.mayTake(lanes, bounded, on: connection)
                #expect(mayTake == finds)
            }
        }
        let keepHundred: Body = { connection in
            let answer = try #require(try queue.beat(beat, on: connection))
            #expect(answer.held.count == 100)
            // All other jobs have leases up to the one that the heartbeat names.
            #expect(answer.released == 400)
        }
        let bodies: [(String, Int, Body)] = [
            ("beat", 1200, keepHundred),
            ("look for suspects", 10, { _ = try queue.hasSuspects(lanes, on: $0) }),
            ("look above bounds", 10, looks(lanes, true)),
            ("look for room", 10, looks([keyed], true)),
            ("look in vain", 10, looks([unused], false)),
            ("rescue", 1200, { _ = try queue.rescue(on: $0) }),
            ("take overdue", 1200, { _ = try queue.takeOverdue(beat.jobs, alarmed: [:], on: $0) }),
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
                        // The counters may still include earlier transactions.
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
}
