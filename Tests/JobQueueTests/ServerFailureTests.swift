import Foundation
import Logging
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The server restarted, cut off, locked, failing over; behind a pooler; behind a network that swallows everything.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ServerFailureTests {
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

    /// Through a path that swallows everything for longer than the lease: another worker takes over, the first comes back.
    @Test func aBlackHoleEndsTheLease() async throws {
        try await JobHarness.with { harness in
            let proxy = try BlackHoleProxy(to: UInt16(harness.database.cluster.port))
            defer { proxy.close() }
            var connection = ConnectionConfiguration(
                conninfo: harness.database.conninfo(port: Int(proxy.port))
            )
            connection.statementDeadline = .seconds(1)
            connection.allowsPlaintext = true
            let through = PoolConfiguration(connection: connection)
            try await enqueue(harness, 100)
            let slow = try ExactJobs.registry(.milliseconds(50))
            let database = harness.database
            try await Pool.withPool(through, logger: harness.logger) { pool in
                let far = try Worker(
                    queue: harness.queue,
                    pool: pool,
                    listener: nil,
                    registry: slow,
                    configuration: harness.configuration(settings),
                    logger: harness.logger
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await far.run() }
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
                    group.cancelAll()
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
                    let worker = try Worker(
                        queue: harness.queue,
                        pool: pool,
                        listener: JobListener(connection, logger: harness.logger),
                        registry: try ExactJobs.registry(),
                        configuration: harness.configuration(settings),
                        logger: harness.logger
                    )
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await worker.run() }
                        try await enqueue(harness, 150)
                        try await harness.until { try await harness.unfinished() == 0 }
                        group.cancelAll()
                    }
                }
            }
            try await ExactJobs.expect(150, harness.database)
        }
    }

    /// The primary dies, the standby is promoted, and the worker finds it by the same connection string.
    @Test func aFailoverIsFollowed() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await enqueue(harness, 300)
                try await Standby.with(of: cluster) { standby in
                    let name = harness.database.name
                    let both = ConnectionConfiguration(
                        conninfo: """
                            host=\(cluster.socket),\(standby.socket) port=\(cluster.port),\(standby.port) user=postgres \
                            dbname=\(name) target_session_attrs=read-write
                            """
                    )
                    try await Pool.withPool(PoolConfiguration(connection: both), logger: harness.logger) { pool in
                        let worker = try Worker(
                            queue: harness.queue,
                            pool: pool,
                            listener: nil,
                            registry: try ExactJobs.registry(.milliseconds(20)),
                            configuration: harness.configuration(settings),
                            logger: harness.logger
                        )
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await worker.run() }
                            try await harness.until { try await ExactJobs.left(harness.database) ?? 300 < 250 }
                            try await cluster.stop(mode: "immediate")
                            try await standby.psql(database: name, "select pg_promote()")
                            try await harness.until { try await ExactJobs.left(harness.database, in: standby) == 0 }
                            group.cancelAll()
                        }
                    }
                    // What the standby had not yet received happened again; in its history each job ended once.
                    try await ExactJobs.expect(300, harness.database, in: standby)
                }
            }
        }
    }
}
