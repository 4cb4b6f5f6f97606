import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

extension ServerFailureTests {
    /// Failovers to another server.
    @Suite struct FailoverTests {
        /// A connection to whichever of the two servers is the primary.
        private func primary(
            of cluster: TestCluster,
            _ standby: TestCluster,
            _ database: String
        ) -> ConnectionConfiguration {
            ConnectionConfiguration(
                conninfo: """
                    host=\(cluster.socket),\(standby.socket) port=\(cluster.port),\(standby.port) user=postgres \
                    dbname=\(database) target_session_attrs=read-write
                    """
            )
        }

        /// The primary dies, the standby is promoted, and the worker finds it with the same connection string.
        @Test func aFailoverIsFollowed() async throws {
            try await TestCluster.with { cluster in
                try await JobHarness.with(in: cluster) { harness in
                    try await ExactJobs.enqueue(300, in: harness)
                    try await Standby.with(of: cluster) { standby in
                        let name = harness.database.name
                        let both = primary(of: cluster, standby, name)
                        try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                            let worker = try harness.worker(
                                try ExactJobs.registry(.milliseconds(20)),
                                in: pool,
                                ExactJobs.shortLeases
                            )
                            try await harness.withWorker(worker) {
                                try await harness.until(every: .milliseconds(5)) {
                                    try await ExactJobs.left(harness.database) ?? 300 < 250
                                }
                                try await cluster.stop(mode: "immediate")
                                try await standby.psql(database: name, "select pg_promote()")
                                try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                            }
                        }
                        // Work that the standby had not yet received happened again; in its history each job ended
                        // once.
                        try await ExactJobs.expect(300, harness.database, in: standby)
                    }
                }
            }
        }

        /// Lets a number of handlers through, and all others once it is opened.
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

        /// Writes that the standby had not received are lost with the primary, lease numbers included, which are then
        /// given out again; the listener hears of new jobs from the new primary.
        @Test func aFailoverThatLosesTheEndOfTheLog() async throws {
            try await TestCluster.with { cluster in
                try await JobHarness.with(in: cluster) { harness in
                    let name = harness.database.name
                    try await ExactJobs.enqueue(400, in: harness)
                    _ = try await harness.pool.withConnection { connection in
                        try harness.queue.limit(
                            kind: ExactJobs.kind.name,
                            running: 6,
                            runningPerKey: nil,
                            on: connection
                        )
                    }
                    // Enough jobs are left for afterwards, however long it takes to cut the standby off.
                    let gate = Gate(free: 100)
                    try await Standby.with(of: cluster) { standby in
                        let both = primary(of: cluster, standby, name)
                        try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                            let registry = try JobRegistry(ExactJobs.kind) { _, context in
                                try await Task.sleep(for: .milliseconds(20))
                                try await gate.pass()
                                return try await ExactJobs.end(context)
                            }
                            let worker = try harness.worker(
                                registry,
                                in: pool,
                                listener: JobListener(both, logger: harness.logger)
                            ) {
                                ExactJobs.shortLeases(&$0)
                                $0.pollInterval = .seconds(3600)
                            }
                            try await harness.withWorker(worker) {
                                try await harness.until(every: .milliseconds(5)) {
                                    try await ExactJobs.left(harness.database, in: standby) ?? 400 < 390
                                }
                                try await cut(off: standby, harness)
                                let received = try await ExactJobs.left(harness.database, in: standby) ?? 0
                                #expect(received > 100)
                                gate.open()
                                // These jobs end on the primary alone. They take more lease numbers than the 32 that a
                                // sequence logs ahead.
                                try await harness.until(every: .milliseconds(5)) {
                                    try await ExactJobs.left(harness.database).map { $0 < received - 100 } ?? false
                                }
                                try await cluster.stop(mode: "immediate")
                                try await standby.psql(database: name, "select pg_promote()")
                                try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                                // The next poll is an hour away: only a notification can bring this job.
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

        /// A handler survives the failover, but the first half of its writes is lost: it must not write the second,
        /// though the new primary says that its job is held.
        @Test func aFailoverThatLosesTheFirstHalf() async throws {
            try await TestCluster.with { cluster in
                try await JobHarness.with(in: cluster) { harness in
                    let name = harness.database.name
                    try await ExactJobs.enqueue(1, in: harness)
                    let (isCut, hasWritten, isPromoted) = (Signal(), Signal(), Signal())
                    let runs = Mutex(0)
                    try await Standby.with(of: cluster) { standby in
                        let both = primary(of: cluster, standby, name)
                        try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                            let registry = try JobRegistry(ExactJobs.kind) { _, context in
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
                                // This handler ignores its cancellation, as any may.
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

        /// Stops the standby from receiving what the primary writes from now on.
        private func cut(off standby: TestCluster, _ harness: JobHarness) async throws {
            try await standby.psql("alter system set primary_conninfo = ''")
            try await standby.psql("select pg_reload_conf()")
            try await harness.until {
                try await standby.psql("select count(*) from pg_stat_wal_receiver") == "0"
            }
        }
    }
}
