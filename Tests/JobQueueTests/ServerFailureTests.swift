import Foundation
import Logging
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// The server restarted, cut off, locked, failing over; behind a pooler; behind a network that swallows everything.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ServerFailureTests {
    private func settings(_ configuration: inout WorkerConfiguration) {
        configuration.slots = 8
        configuration.leaseLifetime = .seconds(2)
    }

    private func enqueue(_ harness: JobHarness, _ count: Int) async throws {
        try await harness.enqueue(try ExactJobs.make(count))
    }

    @Test func restartsAndLostConnectionsLoseNothing() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await enqueue(harness, 600)
                try await harness.withWorker(try ExactJobs.registry(), settings) {
                    for fault in ["fast", "terminate", "immediate", "terminate", "lock"] {
                        let before = try await ExactJobs.left(harness.database) ?? 0
                        // Some work between the faults, so that each meets claims and completions under way.
                        try await harness.until {
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

    /// Through a path that swallows everything for longer than the lease: another worker takes over, the first comes
    /// back.
    @Test func aBlackHoleEndsTheLease() async throws {
        try await JobHarness.with { harness in
            let proxy = try BlackHoleProxy(to: UInt16(harness.database.cluster.port))
            defer { proxy.close() }
            var connection = ConnectionConfiguration(
                conninfo: harness.database.conninfo(port: Int(proxy.port))
            )
            connection.statementDeadline = .seconds(1)
            // A handler that is cut off within its transaction keeps its job's row until then.
            connection.idleInTransactionLimit = .seconds(5)
            connection.allowsPlaintext = true
            let through = PoolConfiguration(connection: connection)
            try await enqueue(harness, 100)
            let slow = try ExactJobs.registry(.milliseconds(50))
            let database = harness.database
            try await Pool.withPool(through, logger: harness.logger) { pool in
                let far = try harness.worker(slow, in: pool, settings)
                try await harness.withWorker(far) {
                    try await harness.until { try await ExactJobs.left(database) ?? 100 < 90 }
                    proxy.swallow(true)
                    try await harness.withWorker(slow, settings) {
                        try await harness.until { try await ExactJobs.left(database) == 0 }
                    }
                    try await ExactJobs.expect(100, database)
                    proxy.swallow(false)
                    // It finds itself declared lost and begins anew.
                    try await enqueue(harness, 20)
                    try await harness.until { try await ExactJobs.left(database) == 0 }
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
                        settings
                    )
                    try await harness.withWorker(worker) {
                        try await enqueue(harness, 150)
                        try await harness.until { try await harness.unfinished() == 0 }
                    }
                }
            }
            try await ExactJobs.expect(150, harness.database)
        }
    }

    /// Leads to whichever of the two is the primary.
    private func primary(
        of cluster: TestCluster,
        _ standby: TestCluster,
        _ database: String
    ) -> ConnectionConfiguration {
        ConnectionConfiguration(
            conninfo: """
                host=\(cluster.socket),\(standby.socket) port=\(cluster.port),\(standby.port) user=postgres dbname=\(database) \
                target_session_attrs=read-write
                """
        )
    }

    /// The primary dies, the standby is promoted, and the worker finds it by the same connection string.
    @Test func aFailoverIsFollowed() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await enqueue(harness, 300)
                try await Standby.with(of: cluster) { standby in
                    let name = harness.database.name
                    let both = primary(of: cluster, standby, name)
                    try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                        let worker = try harness.worker(try ExactJobs.registry(.milliseconds(20)), in: pool, settings)
                        try await harness.withWorker(worker) {
                            try await harness.until { try await ExactJobs.left(harness.database) ?? 300 < 250 }
                            try await cluster.stop(mode: "immediate")
                            try await standby.psql(database: name, "select pg_promote()")
                            try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                        }
                    }
                    // What the standby had not yet received happened again; in its history each job ended once.
                    try await ExactJobs.expect(300, harness.database, in: standby)
                }
            }
        }
    }

    /// Lets so many handlers through, and all others once it is opened.
    private final class Gate: Sendable {
        private let state: Mutex<(free: Int, waiting: [Signal])>

        init(free: Int) {
            state = Mutex((free: free, waiting: []))
        }

        func open() {
            let waiting = state.withLock { state in
                state.free = .max
                defer { state.waiting = [] }
                return state.waiting
            }
            for signal in waiting { signal.set() }
        }

        func pass() async throws {
            let signal = Signal()
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(signal)
                    return false
                }
                state.free -= 1
                return true
            }
            if !isFree { await signal.wait() }
            try Task.checkCancellation()
        }
    }

    /// What the standby had not received is lost with the primary, lease numbers included, which are given out once
    /// more; and the listener hears of new jobs from the new primary.
    @Test func aFailoverThatLosesTheEndOfTheLog() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                let name = harness.database.name
                try await enqueue(harness, 400)
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: ExactJobs.kind.name, running: 6, runningPerKey: nil, on: connection)
                }
                // However long cutting the standby off takes, enough are left for afterwards.
                let gate = Gate(free: 100)
                try await Standby.with(of: cluster) { standby in
                    let both = primary(of: cluster, standby, name)
                    try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                        var registry = JobRegistry()
                        try registry.register(ExactJobs.kind) { _, context in
                            try await Task.sleep(for: .milliseconds(20))
                            try await gate.pass()
                            return try await ExactJobs.end(context)
                        }
                        let worker = try harness.worker(
                            registry,
                            in: pool,
                            listener: JobListener(both, logger: harness.logger)
                        ) {
                            settings(&$0)
                            $0.pollInterval = .seconds(3600)
                        }
                        try await harness.withWorker(worker) {
                            try await harness.until {
                                try await ExactJobs.left(harness.database, in: standby) ?? 400 < 390
                            }
                            try await cut(off: standby, harness)
                            let received = try await ExactJobs.left(harness.database, in: standby) ?? 0
                            #expect(received > 100)
                            gate.open()
                            // These end on the primary alone, and take more leases than the 32 by which the log of a
                            // sequence is ahead of it.
                            try await harness.until {
                                try await ExactJobs.left(harness.database).map { $0 < received - 100 } ?? false
                            }
                            try await cluster.stop(mode: "immediate")
                            try await standby.psql(database: name, "select pg_promote()")
                            try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                            // The poll is an hour away.
                            try await standby.psql(
                                database: name,
                                #"select accountctl.enqueue_job('\#(ExactJobs.kind.name)', '{"text": ""}')"#
                            )
                            try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                        }
                    }
                    try await ExactJobs.expect(401, harness.database, in: standby)
                }
            }
        }
    }

    /// A handler that lives through it goes on where it was, and the first half of what it wrote is gone: it must not
    /// write the second, though the new primary says that its job is held.
    @Test func aFailoverThatLosesTheFirstHalf() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                let name = harness.database.name
                try await enqueue(harness, 1)
                let (isCut, hasWritten, isPromoted) = (Signal(), Signal(), Signal())
                let runs = Mutex(0)
                try await Standby.with(of: cluster) { standby in
                    let both = primary(of: cluster, standby, name)
                    try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                        var registry = JobRegistry()
                        try registry.register(ExactJobs.kind) { _, context in
                            let run = runs.withLock { runs in
                                runs += 1
                                return runs
                            }
                            @Sendable func write(_ half: String) async throws {
                                try await pool.withTransaction { connection in
                                    try context.fence(on: connection)
                                    try harness.effect(context.id, "run \(run) \(half)", on: connection)
                                }
                            }
                            guard run == 1 else {
                                for half in ["first", "second"] { try await write(half) }
                                return .completed()
                            }
                            await isCut.wait()
                            try await write("first")
                            hasWritten.set()
                            await isPromoted.wait()
                            // Deaf, as a handler may be.
                            let second: Result<Void, any Error> = await uncancelled {
                                while true {
                                    do {
                                        return .success(try await write("second"))
                                    } catch is PostgresError {
                                        // The pool's connections were those of the old primary.
                                    } catch {
                                        return .failure(error)
                                    }
                                }
                            }
                            try second.get()
                            return .completed()
                        }
                        let worker = try harness.worker(registry, in: pool) { $0.leaseLifetime = .seconds(20) }
                        try await harness.withWorker(worker) {
                            try await harness.until {
                                try await standby.psql(
                                    database: name,
                                    "select count(*) from accountctl.jobs where state = 'running'"
                                ) == "1"
                            }
                            try await cut(off: standby, harness)
                            isCut.set()
                            await hasWritten.wait()
                            try await cluster.stop(mode: "immediate")
                            try await standby.psql(database: name, "select pg_promote()")
                            isPromoted.set()
                            try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                        }
                    }
                    let written = try await standby.psql(
                        database: name,
                        "select string_agg(note, ', ' order by note) from public.effects"
                    )
                    #expect(written == "run 2 first, run 2 second")
                }
            }
        }
    }

    /// What the primary writes from now on, the standby does not receive.
    private func cut(off standby: TestCluster, _ harness: JobHarness) async throws {
        try await standby.psql("alter system set primary_conninfo = ''")
        try await standby.psql("select pg_reload_conf()")
        try await harness.until {
            try await standby.psql("select count(*) from pg_stat_wal_receiver") == "0"
        }
    }

    /// One session listens, however many queues there are; and when the server allows no more of them than there are,
    /// what finds none is tried again.
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
                        settings
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
                        // Room for the harness, the listener and one more.
                        try await database.psql("alter database \(database.name) connection limit 3")
                        try await harness.execute("select pg_terminate_backend(pid) \(sessions) not ilike 'listen%'")
                        try await enqueue(harness, 100)
                        try await harness.until { try await ExactJobs.left(database) == 0 }
                    }
                }
                try await ExactJobs.expect(100, database)
                let log = try String(contentsOfFile: cluster.folder + "/log", encoding: .utf8)
                #expect(log.contains("too many connections for database"))
            }
        }
    }

    /// Each of 32 clients has a job in a transaction that stays open; they commit in the reverse order, while jobs that
    /// came later and were committed before have long been claimed.
    @Test func longTransactionsThatCommitInAnyOrder() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(connections: 40, in: cluster) { harness in
                let inserted = Mutex(0)
                // Whose turn it is; nobody's at first.
                let turns = Mutex(33)
                let client = { @Sendable (turn: Int) in
                    try await harness.pool.withTransaction { connection in
                        try harness.queue.enqueue(try ExactJobs.make(1), on: connection)
                        inserted.withLock { $0 += 1 }
                        try await harness.until { turns.withLock { $0 == turn } }
                    }
                    turns.withLock { $0 -= 1 }
                }
                try await harness.withWorker(try ExactJobs.registry(), settings) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for turn in 1...32 { group.addTask { try await client(turn) } }
                        try await harness.until { inserted.withLock { $0 } == 32 }
                        try await enqueue(harness, 200)
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
