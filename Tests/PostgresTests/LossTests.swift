import Foundation
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LossTests {
    /// Returns when the server process is gone, and with it its end of the connection.
    private func terminate(_ pid: Int32, _ database: TestDatabase) async throws {
        try await database.psql("select pg_terminate_backend(\(pid), 30000)")
    }

    @Test func anIdleConnectionNoticesItsEnd() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try await terminate(connection.backendPID, database)
                // No statement is needed: the thread watches the socket while it is idle.
                try await eventually("its end is noticed") { !connection.isUsable }
                let error = try #require(throws: PostgresError.self) { try connection.execute("select 1") }
                #expect(error.code == .connectionLost && error.isTransient)
            }
        }
    }

    @Test func aPoolReplacesWhatItLost() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                let first = try await pool.withConnection { $0.backendPID }
                try await terminate(first, database)
                let second = try await pool.withConnection { connection in
                    try connection.one("select pg_backend_pid()", as: Int.self)
                }
                #expect(second != Int(first))
            }
        }
    }

    @Test func aStatementThatLosesItsServerSaysSo() async throws {
        try await TestDatabase.with(.empty) { database in
            let task = Task {
                try await database.withConnection { try $0.execute("select pg_sleep(60)") }
            }
            try await database.waitUntilRunning("pg_sleep")
            try await database.psql(
                """
                select pg_terminate_backend(pid)
                from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid() and query like '%pg_sleep%'
                """
            )
            let error = try await PostgresError.expected { try await task.value }
            #expect(error.code == .connectionLost && error.sqlState == .adminShutdown && !error.outcomeKnown)
        }
    }

    @Test(arguments: [TCPProxy.Behaviour.cut, .halfClose])
    func aCutConnectionIsNoticed(behaviour: TCPProxy.Behaviour) async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                try await database.withConnection(through: proxy) { connection in
                    proxy.behaviour = behaviour
                    try await eventually("its end is noticed") { !connection.isUsable }
                    let error = try #require(throws: PostgresError.self) { try connection.execute("select 1") }
                    #expect(error.code == .connectionLost && error.isTransient)
                }
            }
        }
    }

    /// libpq adds advice in lines of its own.
    @Test func whatIsSaidOfALossIsOneLine() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                try await database.withConnection(through: proxy) { connection in
                    proxy.behaviour = .cutAt("lost here", afterServerAnswered: false)
                    let error = try #require(throws: PostgresError.self) {
                        try connection.execute("select 'lost here'")
                    }
                    let said = error.diagnostics?.message ?? ""
                    #expect(error.code == .connectionLost && !said.isEmpty && !said.contains("\n"), "\(said)")
                }
            }
        }
    }

    @Test func aPoolSurvivesRestartsAndAFullServerAndReadOnlyMode() async throws {
        try await TestCluster.with(settings: ["max_connections=10", "superuser_reserved_connections=3"]) { cluster in
            try await TestDatabase.with(.empty, in: cluster) { database in
                try await database.withPool { pool in
                    try await pool.withConnection { try $0.execute("create table t (id int)") }

                    for mode in ["fast", "immediate"] {
                        try await cluster.restart(mode: mode)
                        #expect(try await pool.withConnection { try $0.one("select 1", as: Int.self) } == 1)
                    }

                    // A request that comes while the server is down waits until it is back.
                    try await cluster.stop()
                    async let late = pool.withConnection { try $0.one("select 2", as: Int.self) }
                    try await cluster.start()
                    #expect(try await late == 2)

                    try await fill(database)

                    try await cluster.psql("alter database \(database.name) set default_transaction_read_only = on")
                    try await Pool.withPool(PoolConfiguration(connection: database.configuration), logger: .silent) {
                        pool in
                        let error = try await PostgresError.expected {
                            try await pool.withConnection { try $0.execute("insert into t values (1)") }
                        }
                        #expect(error.sqlState == .readOnlyTransaction && error.isTransient)
                        #expect("\(error)".contains("read-only mode"), "\(error)")
                        // A session that was read-only would stay so for as long as the pool keeps it.
                        try await cluster.psql("alter database \(database.name) reset default_transaction_read_only")
                        try await pool.withConnection { try $0.execute("insert into t values (1)") }
                    }
                }
            }
        }
    }

    /// Takes every connection the limited role may have, and asks for one more.
    private func fill(_ database: TestDatabase) async throws {
        try await database.withPool(maximumConnections: 6) { pool in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (full, signal) = AsyncStream.makeStream(of: Void.self)
                let (release, releasing) = AsyncStream.makeStream(of: Void.self)
                for _ in 0..<6 {
                    group.addTask {
                        try await pool.withConnection { _ in
                            signal.yield()
                            for await _ in release {}
                        }
                    }
                }
                var iterator = full.makeAsyncIterator()
                for _ in 0..<6 { await iterator.next() }
                var configuration = PoolConfiguration(connection: database.configuration)
                // Long enough for an answer of the server, even on a busy machine.
                configuration.acquireDeadline = .seconds(10)
                configuration.initialBackoff = .seconds(60)
                let error = try await PostgresError.expected {
                    try await Pool.withPool(configuration, logger: .silent) { try await $0.withConnection { _ in } }
                }
                #expect(error.code == .connectionFailed && error.sqlState == .tooManyConnections && error.isTransient)
                releasing.finish()
                try await group.waitForAll()
            }
        }
    }
}
