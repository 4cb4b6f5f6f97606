import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A server that is restarted, cut off or locked, or is behind a pooler, or behind a network that lets nothing through.
@Suite(.timeLimit(.minutes(5))) struct ServerFailureTests {
    @Test func restartsAndLostConnectionsLoseNothing() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await ExactJobs.enqueue(600, in: harness)
                try await harness.withWorker(try ExactJobs.registry(), ExactJobs.shortLeases) {
                    for fault in ["fast", "terminate", "immediate", "terminate", "lock"] {
                        let before = try await ExactJobs.left(harness.database) ?? 0
                        // Some work between the faults, so that each meets claims and completions under way.
                        try await harness.until(every: .milliseconds(5)) {
                            try await ExactJobs.left(harness.database).map { $0 < before - 20 || $0 == 0 } ?? false
                        }
                        switch fault {
                        case "terminate":
                            try await harness.database.psql(
                                """
                                select pg_terminate_backend(pid) from pg_stat_activity
                                where usename = 'postgres' and datname = current_database()
                                """
                            )
                        case "lock":
                            try await harness.database.psql(
                                "begin; lock table accountctl.jobs in exclusive mode; select pg_sleep(0.7); commit"
                            )
                        default:
                            try await cluster.restart(mode: fault)
                        }
                    }
                    try await harness.until { try await ExactJobs.left(harness.database) == 0 }
                }
                try await ExactJobs.expect(600, harness.database)
            }
        }
    }

    /// The network lets nothing through for longer than the lease: another worker takes over, and the first one comes
    /// back.
    @Test func aBlackHoleEndsTheLease() async throws {
        try await JobHarness.with { harness in
            try await ExactJobs.enqueue(100, in: harness)
            let slow = try ExactJobs.registry(.milliseconds(50))
            let database = harness.database
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                var connection = ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                connection.statementDeadline = .seconds(1)
                // Until this limit a handler that is cut off within its transaction keeps its job's row locked.
                connection.idleInTransactionLimit = .seconds(5)
                connection.allowsPlaintext = true
                try await Pool.withPool(PoolConfiguration(connection: connection), logger: harness.logger) { pool in
                    let far = try harness.worker(slow, in: pool, ExactJobs.shortLeases)
                    try await harness.withWorker(far) {
                        try await harness.until(every: .milliseconds(5)) {
                            try await ExactJobs.left(database) ?? 100 < 90
                        }
                        proxy.behaviour = .blackHole
                        try await harness.withWorker(slow, ExactJobs.shortLeases) {
                            try await harness.until { try await ExactJobs.left(database) == 0 }
                        }
                        try await ExactJobs.expect(100, database)
                        // What the network kept arrives late, and the first worker learns that it was declared lost,
                        // and registers anew.
                        proxy.behaviour = .forward
                        try await ExactJobs.enqueue(20, in: harness)
                        try await harness.until { try await ExactJobs.left(database) == 0 }
                    }
                }
            }
            try await ExactJobs.expect(120, database)
        }
    }

    @Test func aTransactionPoolerLeavesPollingOnly() async throws {
        try await JobHarness.with { harness in
            try await PgBouncer.with(.transaction, poolSize: 3, to: harness.database.cluster) { bouncer in
                let connection = ConnectionConfiguration(conninfo: bouncer.conninfo(database: harness.database.name))
                try await Pool.withPool(PoolConfiguration(connection: connection), logger: harness.logger) { pool in
                    let worker = try harness.worker(
                        try ExactJobs.registry(),
                        in: pool,
                        listener: JobListener(connection, logger: harness.logger),
                        ExactJobs.shortLeases
                    )
                    try await harness.withWorker(worker) {
                        try await ExactJobs.enqueue(150, in: harness)
                        try await harness.until { try await harness.unfinished() == 0 }
                    }
                }
            }
            try await ExactJobs.expect(150, harness.database)
        }
    }

    /// One session listens, however many queues there are.
    ///
    /// When the server allows no further connection, statements that got none are retried.
    @Test func tooFewConnectionsLoseNothing() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(connections: 1, in: cluster) { harness in
                let database = harness.database
                var registry = try ExactJobs.registry()
                for queue in ["one", "two", "three"] {
                    try registry.register(JobKind<Note>(queue, queue: queue)) { _, _ in .completed() }
                }
                try await Pool.withPool(
                    PoolConfiguration(connection: database.configuration),
                    logger: harness.logger
                ) { [registry] pool in
                    let worker = try harness.worker(
                        registry,
                        in: pool,
                        listener: JobListener(database.configuration, logger: harness.logger),
                        ExactJobs.shortLeases
                    )
                    try await harness.withWorker(worker) {
                        try await database.waitUntilListening("accountctl_jobs")
                        let sessions: Statement = """
                            from pg_stat_activity
                            where datname = current_database()
                            and usename = current_user
                            and pid <> pg_backend_pid()
                            and query
                            """
                        #expect(try await harness.count("select count(*) \(sessions) ilike 'listen%'") == 1)
                        // Three connections: the harness, the listener and one more.
                        try await database.psql("alter database \(database.name) connection limit 3")
                        try await harness.execute("select pg_terminate_backend(pid) \(sessions) not ilike 'listen%'")
                        try await ExactJobs.enqueue(100, in: harness)
                        try await harness.until { try await ExactJobs.left(database) == 0 }
                    }
                }
                try await ExactJobs.expect(100, database)
                let log = try String(contentsOfFile: cluster.folder + "/log", encoding: .utf8)
                #expect(log.contains("too many connections for database"))
            }
        }
    }

    /// Each of 32 clients enqueues a job in a transaction that stays open.
    ///
    /// They commit in reverse order, while jobs that came later and committed earlier have long been claimed.
    @Test func longTransactionsThatCommitInAnyOrder() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(connections: 40, in: cluster) { harness in
                let inserted = Mutex(0)
                // The client whose turn it is to commit; none at first.
                let turns = Mutex(33)
                let client = { @Sendable (turn: Int) in
                    try await harness.pool.withTransaction { connection in
                        try harness.queue.enqueue(try ExactJobs.make(1), on: connection)
                        inserted.withLock { $0 += 1 }
                        try await harness.until { turns.withLock { $0 == turn } }
                    }
                    turns.withLock { $0 -= 1 }
                }
                try await harness.withWorker(try ExactJobs.registry(), ExactJobs.shortLeases) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for turn in 1...32 { group.addTask { try await client(turn) } }
                        try await harness.until { inserted.withLock { $0 } == 32 }
                        try await ExactJobs.enqueue(200, in: harness)
                        try await harness.until { try await harness.unfinished() == 0 }
                        turns.withLock { $0 -= 1 }
                        try await group.waitForAll()
                    }
                    try await harness.until { try await harness.unfinished() == 0 }
                }
                try await ExactJobs.expect(232, harness.database)
            }
        }
    }
}
