import JobQueue
import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A database with the job tables, and the hand-written SQL that the engine is compared with.
struct QueueBench: Sendable {
    struct Nothing: Codable, Sendable {
        var n = 1
    }

    let cluster: BenchmarkCluster
    let database: String
    let queue = JobQueue()

    static let kind = JobKind<Nothing>("bench.nothing")
    static let lanes = [Lane(queue: "default", kind: "bench.nothing", timeout: .seconds(60))]

    /// Runs on a server with default settings, which flushes at every commit, since a queue consists of commits.
    static func with<Result: Sendable>(_ body: @Sendable (QueueBench) async throws -> Result) async throws -> Result {
        try await BenchmarkCluster.with(settings: []) { cluster in
            try await cluster.migratedDatabase("bench")
            let bench = QueueBench(cluster: cluster, database: "bench")
            try await cluster.psql(["-c", QueueBench.floorTable], database: "bench")
            return try await body(bench)
        }
    }

    /// Another database of the same server, with empty job tables.
    func beside(_ name: String) async throws -> QueueBench {
        try await cluster.migratedDatabase(name)
        return QueueBench(cluster: cluster, database: name)
    }

    /// The smallest table with leases, which the floors claim from and write to.
    private static let floorTable = """
        create table floor_jobs (
            id bigint generated always as identity primary key, run_at timestamptz not null default now(),
            lease_until timestamptz, worker bigint, priority smallint not null default 5,
            state smallint not null default 0, attempt smallint not null default 0, args jsonb not null default '{}'
        ) with (autovacuum_analyze_threshold = 2000000000);
        create index on floor_jobs (priority, run_at, id) where state = 0;
        create index on floor_jobs (lease_until) where state = 1;
        alter table floor_jobs owner to postgres
        """

    var configuration: ConnectionConfiguration {
        ConnectionConfiguration(conninfo: cluster.conninfo(database: database, user: "postgres"))
    }

    func psql(_ sql: String) async throws {
        try await cluster.psql(["-c", sql], database: database, user: "postgres")
    }

    func withPool<Result: Sendable>(
        _ connections: Int = 4,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        var pool = PoolConfiguration(connection: configuration)
        pool.maximumConnections = connections
        pool.connection.sessionSettings = JobQueue.controlSettings
        return try await Pool.withPool(pool, logger: .silent, body)
    }

    /// Empties all tables, so that each round starts in the same state.
    func clear() async throws {
        try await psql("truncate accountctl.jobs, accountctl.job_history, accountctl.queues, floor_jobs")

    }

    /// Jobs with different arguments, like an app's.
    func jobs(_ count: Int) throws -> [NewJob] {
        try (1...count).map { try Self.kind.job(Nothing(n: $0)) }
    }

    /// Adds jobs in batches of a thousand.
    func fill(_ count: Int, _ pool: Pool) async throws {
        let batch = try jobs(1000)
        try await pool.withConnection { connection in
            for _ in 0..<(count / 1000) { try queue.enqueue(batch, on: connection) }
        }
    }

    func worker(
        _ pool: Pool,
        listener: JobListener? = nil,
        _ change: (inout WorkerConfiguration) -> Void = { _ in },
        handler: @escaping JobRegistry.Handler<Nothing>
    ) throws -> Worker {
        var registry = JobRegistry()
        try registry.register(Self.kind, handler: handler)
        var configuration = WorkerConfiguration(name: "benchmark")
        configuration.slots = 1000
        change(&configuration)
        return try Worker(
            queue: queue,
            pool: pool,
            listener: listener,
            registry: registry,
            configuration: configuration,
            logger: .silent
        )
    }

    /// Waits until a worker listens and has sent its first heartbeat.
    ///
    /// - Throws: ``BenchmarkError`` if none does in a minute: that a worker has failed shows only after this wait.
    func untilListening() async throws {
        let isListening: Statement = """
            select exists (select from accountctl.workers where stopped_at is null and beat_at > started_at)
            and exists (select from pg_stat_activity where datname = current_database() and query like 'listen%')
            """
        let end = ContinuousClock.now.advanced(by: .seconds(60))
        try await Connection.with(configuration, logger: .silent) { connection in
            while try connection.one(isListening, as: Bool.self) == false {
                guard ContinuousClock.now < end else { throw BenchmarkError("no worker listens after a minute") }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// Runs a pgbench script with prepared statements and returns the transactions per second.
    func pgbench(_ script: String, clients: Int = 1, transactions: Int) async throws -> Double {
        let file = cluster.folder + "/script-\(UUID().uuidString.prefix(8)).sql"
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        let output = try await BenchmarkCluster.command([
            "pgbench", "-n", "-M", "prepared", "-c", "\(clients)", "-j", "\(min(2, clients))", "-t", "\(transactions)",
            "-f", file, "-h", cluster.folder + "/socket", "-p", "\(cluster.port)", "-U", "postgres", database,
        ])
        for line in output.split(separator: "\n") where line.hasPrefix("tps = ") {
            if let rate = Double(line.dropFirst(6).prefix { $0 != " " }) { return rate }
        }
        throw BenchmarkError("pgbench told no rate:\n\(output)")
    }

    /// The private memory of this process, in megabytes; nil where there is no /proc.
    static func privateMemory() -> Double? {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return nil }
        for line in status.split(separator: "\n") where line.hasPrefix("RssAnon:") {
            return Double(line.filter(\.isNumber)).map { $0 / 1024 }
        }
        return nil
    }
}

extension Duration {
    /// The duration as a number of seconds.
    var inSeconds: Double { self / .seconds(1) }
}
