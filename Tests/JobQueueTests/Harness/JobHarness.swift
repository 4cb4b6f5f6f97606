import JobQueue
import Logging
import Postgres
import TestSupport
import Testing

/// A database with the job tables, and a table of effects that handlers write and tests count.
struct JobHarness: Sendable {
    let database: TestDatabase
    let pool: Pool
    let queue = JobQueue()
    let logger = Logger.silent

    static func with(
        connections: Int = 6,
        in cluster: TestCluster? = nil,
        _ body: @Sendable (JobHarness) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.migrated, in: cluster) { database in
            try await database.psql(
                """
                create table public.effects (
                    id bigint generated always as identity, job bigint not null, note text not null,
                    at timestamptz default clock_timestamp()
                );
                alter table public.effects owner to postgres
                """
            )
            try await database.withPool(
                maximumConnections: connections,
                sessionSettings: JobQueue.controlSettings
            ) { pool in
                try await body(JobHarness(database: database, pool: pool))
            }
        }
    }

    func configuration(_ change: (inout WorkerConfiguration) -> Void = { _ in }) -> WorkerConfiguration {
        var configuration = WorkerConfiguration(name: "test")
        configuration.pollInterval = .milliseconds(50)
        configuration.vacuumInterval = nil
        change(&configuration)
        return configuration
    }

    func worker(
        _ registry: JobRegistry,
        in pool: Pool? = nil,
        control: Pool? = nil,
        listener: JobListener? = nil,
        logger: Logger? = nil,
        _ change: (inout WorkerConfiguration) -> Void = { _ in }
    ) throws -> Worker {
        try Worker(
            queue: queue,
            pool: pool ?? self.pool,
            control: control,
            listener: listener,
            registry: registry,
            configuration: configuration(change),
            logger: logger ?? self.logger
        )
    }

    /// Runs a worker beside `body`, as ``withWorkers(_:_:)`` does.
    func withWorker(
        _ registry: JobRegistry,
        listener: JobListener? = nil,
        _ change: (inout WorkerConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withWorker(try worker(registry, listener: listener, change), body)
    }

    /// Runs a worker beside `body`, as ``withWorkers(_:_:)`` does.
    func withWorker(_ worker: Worker, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withWorkers([worker], body)
    }

    /// Runs a worker beside `body`, once it listens, that acts on nothing but notifications: its next poll and its next
    /// heartbeat are due long after the test.
    func withListeningWorker(
        _ registry: JobRegistry,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let listener = JobListener(database.configuration, logger: logger)
        let worker = try worker(registry, listener: listener) {
            $0.pollInterval = .seconds(3600)
            $0.leaseLifetime = .seconds(3600)
        }
        try await withWorker(worker) {
            try await database.waitUntilListening("accountctl_jobs")
            try await body()
        }
    }

    /// Runs workers beside `body` and cancels them afterwards.
    ///
    /// - Throws: What `body` throws, and what a worker ends with: outcomes that it lost, handlers that did not stop.
    ///   A worker that fails earlier ends `body`.
    func withWorkers(_ workers: [Worker], _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await runBeside(workers, run: { try await $0.run() }, body)
    }

    /// Records that a job had its effect.
    func effect(_ context: JobContext, _ note: String = "ran") async throws {
        try await pool.withConnection { connection in
            try effect(context.id, note, on: connection)
        }
    }

    func effect(_ job: Int64, _ note: String, on connection: isolated Connection) throws {
        try connection.execute("insert into public.effects (job, note) values (\(job), \(note))")
    }

    func count(_ statement: Statement) async throws -> Int {
        try await pool.withConnection { connection in try connection.one(statement, as: Int.self) }
    }

    func effects() async throws -> Int { try await count("select count(*) from public.effects") }

    func finished(_ outcome: String) async throws -> Int {
        try await count("select count(*) from accountctl.job_history where outcome::text = \(outcome)")
    }

    func unfinished() async throws -> Int { try await count("select count(*) from accountctl.jobs") }

    @discardableResult
    func enqueue(_ jobs: [NewJob]) async throws -> [EnqueuedJob] {
        try await queue.enqueue(jobs, in: pool)
    }

    func execute(_ statement: Statement) async throws {
        _ = try await pool.withConnection { connection in try connection.execute(statement) }
    }

    func show(_ id: Int64) async throws -> JobDetails? {
        try await pool.withConnection { connection in try queue.show(id, on: connection) }
    }

    /// Polls until `condition` holds; a test that waits in vain fails with the contents of the tables.
    ///
    /// Looks are rare, since they were a tenth of what these tests cost, except where a fault has to come in the middle
    /// of quick work.
    func until(
        within: Duration = .seconds(45),
        every pause: Duration = .milliseconds(20),
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: @Sendable () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + within
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                // The reason may be that the server is down.
                let standing: String
                do { standing = try await database.psql(Self.standing) } catch { standing = "\(error)" }
                Issue.record("waited \(within) in vain:\n\(standing)", sourceLocation: sourceLocation)
                throw TestSupportError("waited in vain")
            }
            try await Task.sleep(for: pause)
        }
    }

    /// Waits for the first heartbeat of the only worker.
    func untilBeaten(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await until(sourceLocation: sourceLocation) {
            try await count("select count(*) from accountctl.workers where beat_at > started_at") == 1
        }
    }

    /// Lists the jobs, queues, workers, sessions and waiting locks.
    private static let standing = """
        select 'jobs ' || kind || ' ' || queue || ' ' || state || ' worker ' || coalesce(worker::text, '-')
            || ' lease ' || lease || ' due ' || bool_or(run_at <= now()) || ': ' || count(*)
        from accountctl.jobs
        group by kind, queue, state, worker, lease
        union all
        select 'ended ' || kind || ' ' || outcome || ': ' || count(*)
        from accountctl.job_history
        group by kind, outcome
        union all
        select 'queue ' || to_jsonb(q)::text from accountctl.queues as q
        union all
        select 'worker ' || to_jsonb(w)::text from accountctl.workers as w
        union all
        select concat_ws(' ', 'session', pid, state, wait_event_type, wait_event, left(query, 80))
        from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
        union all
        select concat_ws(' ', 'lock', pid, locktype, relation::regclass, mode)
        from pg_locks
        where not granted
        """
}

struct Note: Codable, Sendable, Equatable {
    var text = ""
}
