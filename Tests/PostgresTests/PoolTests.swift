import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct PoolTests {
    @Test func aTransactionLeftOpenIsRolledBackAndItsConnectionDropped() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                let first = try await pool.withConnection { connection in
                    try connection.script(unsafeSQL: "create table t (id int); begin; insert into t values (1)")
                    return connection.backendPID
                }
                let (second, count) = try await pool.withConnection { connection in
                    (
                        connection.backendPID,
                        try connection.one("select count(*) from pg_class where relname = 't'", as: Int.self)
                    )
                }
                #expect(first != second && count == 0)
            }
        }
    }

    /// After a restart of the server a pool keeps no connection that it cannot use any more.
    @Test func idleConnectionsThatTheServerEndedAreClosed() async throws {
        try await TestDatabase.with(.empty) { database in
            let configuration = PoolConfiguration(connection: database.configuration)
            try await Pool.withPool(configuration, logger: .silent) { pool in
                let pid = try await pool.withConnection { connection in
                    try await pool.withConnection { _ in }
                    return connection.backendPID
                }
                #expect(pool.counts.idle == 2)
                try await database.psql(
                    """
                    select pg_terminate_backend(pid)
                    from pg_stat_activity
                    where datname = current_database()
                      and pid <> pg_backend_pid()
                    """
                )
                try await eventually("both are closed") { pool.counts.idle == 0 && pool.counts.inUse == 0 }
                #expect(try await pool.withConnection { $0.backendPID } != pid)
            }
        }
    }

    @Test func aRequestThatWaitsTooLongIsToldSo() async throws {
        try await TestDatabase.with(.empty) { database in
            var configuration = PoolConfiguration(connection: database.configuration)
            configuration.maximumConnections = 1
            configuration.acquireDeadline = .seconds(1)
            try await Pool.withPool(configuration, logger: .silent) { pool in
                // Making the connection may itself take longer than the deadline.
                while (try? await pool.withConnection { _ in }) == nil { try Task.checkCancellation() }
                try await pool.withConnection { _ in
                    let error = try await PostgresError.expected { try await pool.withConnection { _ in } }
                    #expect(error.code == .poolExhausted && error.isTransient)
                }
                #expect(try await pool.withConnection { try $0.one("select 1", as: Int.self) } == 1)
            }
        }
    }

    /// Whoever reads of an outage in the log reads there that it is over.
    @Test func theEndOfAnOutageIsLoggedOnce() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                proxy.behaviour = .cut
                let lines = LogLines()
                var connection = ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                connection.pooler = .none
                var configuration = PoolConfiguration(connection: connection)
                configuration.acquireDeadline = .seconds(120)
                try await Pool.withPool(configuration, logger: lines.logger) { pool in
                    async let answer = pool.withConnection { try $0.one("select 1", as: Int.self) }
                    try await eventually("it fails") { lines.all.contains { $0.contains("could not connect") } }
                    proxy.behaviour = .forward
                    #expect(try await answer == 1)
                    #expect(try await pool.withConnection { try $0.one("select 2", as: Int.self) } == 2)
                }
                #expect(lines.all.count { $0.contains("the database can be reached again") } == 1, "\(lines.all)")
            }
        }
    }

    /// Supavisor reports that it is full, or has no such database, with the SQLSTATE of an internal error.
    @Test(arguments: [
        ("(EMAXCONNSESSION) max clients reached in session mode - max clients are limited to pool_size: 15", true),
        ("(EMAXCLIENTCONN) max client connections reached, limit: 200", true),
        ("(ECHECKOUTTIMEOUT) unable to check out connection from the pool after 15000ms in Session mode", true),
        ("MaxClientsInSessionMode: max clients reached - in Session mode max clients are limited to pool_size", true),
        ("Max client connections reached", true), ("(ENOTFOUND) tenant/user postgres.abc not found", false),
        ("Tenant or user not found", false),
        ("(EDBHANDLEREXITED) connection to database closed. Check logs for more information", true),
        ("(ECIRCUITBREAKER) Failed to retrieve database credentials", true),
        ("(EAUTHQUERY) authentication query failed: connection to database not available", true),
        ("(EAUTHQUERY) user not found in the database", false),
    ])
    func aBusyPoolerIsWaitedFor(message: String, mayPass: Bool) async throws {
        try await RefusingServer.with("XX000", message) { server in
            var connection = ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(server.port) user=a dbname=b")
            // No attempt is cut off before it is refused.
            connection.connectTimeout = .seconds(3600)
            let refusal = try await PostgresError.expected {
                try await Connection.with(connection, logger: .silent) { _ in }
            }
            #expect(refusal.code == .connectionFailed && refusal.isTransient == mayPass, "\(refusal)")
            #expect(server.refusals == 1)
            var configuration = PoolConfiguration(connection: connection)
            configuration.acquireDeadline = .seconds(3600)
            try await Pool.withPool(configuration, logger: .silent) { pool in
                let request = Task { try await pool.withConnection { _ in } }
                if mayPass {
                    // The pool's first attempt and a second one.
                    try await eventually("it is refused again") { server.refusals >= 3 }
                    request.cancel()
                    await #expect(throws: CancellationError.self) { try await request.value }
                } else {
                    let error = try await PostgresError.expected { try await request.value }
                    #expect(error.code == .connectionFailed && !error.isTransient, "\(error)")
                    #expect(server.refusals == 2)
                }
            }
        }
    }

    /// The attempt to connect ends with the request, whatever the connection's own limit is.
    @Test func anAttemptToConnectEndsWithTheRequestsDeadline() async throws {
        try await DeafServer.with { port in
            var configuration = PoolConfiguration(
                connection: ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(port) user=nobody dbname=none")
            )
            configuration.connection.connectTimeout = .seconds(60)
            try await expectNothing(from: configuration)
        }
    }

    /// The server falls silent while the pooler is being detected or, where no detection is needed, while the settings
    /// are made.
    @Test(arguments: [ConnectionConfiguration.Pooler.detect, .none])
    func aServerThatFallsSilentAfterTheLoginIsNotWaitedFor(pooler: ConnectionConfiguration.Pooler) async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                proxy.behaviour = .silentAt("set_config")
                var connection = ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                connection.pooler = pooler
                try await expectNothing(from: PoolConfiguration(connection: connection))
            }
        }
    }

    private func expectNothing(from configuration: PoolConfiguration) async throws {
        var configuration = configuration
        configuration.acquireDeadline = .seconds(1)
        // A cancel request to the server would wait for this long.
        configuration.connection.cancelGrace = .seconds(3600)
        let started = ContinuousClock.now
        try await Pool.withPool(configuration, logger: .silent) { pool in
            let error = try await PostgresError.expected { try await pool.withConnection { _ in } }
            // The attempt ends a little before the request does, which may learn of that too late.
            #expect((error.code == .connectionFailed || error.code == .poolExhausted) && error.isTransient, "\(error)")
            // The attempt ends by itself, before the end of the pool would cut it off.
            try await eventually("the attempt ends") { pool.counts.inUse == 0 }
        }
        // Shorter than any limit of the connection itself.
        #expect(started.duration(to: .now) < .seconds(25))
    }

    /// A caller that retries by itself does not wait for a server that is down.
    @Test(.timeLimit(.minutes(5))) func aPoolThatDoesNotRetryTellsOfTheFirstFailure() async throws {
        try await ClosedPort.with { port in
            var configuration = PoolConfiguration(
                connection: ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(port) user=nobody dbname=none")
            )
            configuration.acquireDeadline = .seconds(3600)
            configuration.retriesConnecting = .never
            try await Pool.withPool(configuration, logger: .silent) { pool in
                let error = try await PostgresError.expected { try await pool.withConnection { _ in } }
                #expect(error.code == .connectionFailed && error.isTransient, "\(error)")
            }
        }
    }

    /// Before the first connection a missing server is an error at once; after it, requests wait for the server to come
    /// back.
    @Test(.timeLimit(.minutes(5))) func aPoolMayRetryOnceItWasConnected() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                var configuration = PoolConfiguration(
                    connection: ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                )
                configuration.acquireDeadline = .seconds(3600)
                configuration.retriesConnecting = .onceConnected
                try await Pool.withPool(configuration, logger: .silent) { pool in
                    proxy.behaviour = .cut
                    let error = try await PostgresError.expected { try await pool.withConnection { _ in } }
                    #expect(error.isTransient, "\(error)")
                    proxy.behaviour = .forward
                    let first = try await pool.withConnection { $0.backendPID }
                    proxy.behaviour = .cut
                    try await eventually("the connection is lost") { pool.counts.idle == 0 }
                    let before = proxy.connections
                    let waiting = Task { try await pool.withConnection { $0.backendPID } }
                    try await eventually("it tries more than once") { proxy.connections >= before + 2 }
                    proxy.behaviour = .forward
                    #expect(try await waiting.value != first)
                }
            }
        }
    }

    /// A request that waits for a new connection takes one that comes free, even if the server accepts no further
    /// connection.
    @Test(.timeLimit(.minutes(5))) func whoWaitsForANewConnectionTakesOneThatComesFree() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                var configuration = PoolConfiguration(
                    connection: ConnectionConfiguration(conninfo: database.conninfo(port: proxy.port))
                )
                // No failed attempt ends the wait.
                configuration.connection.connectTimeout = .seconds(3600)
                configuration.acquireDeadline = .seconds(3600)
                try await Pool.withPool(configuration, logger: .silent) { pool in
                    let (first, waiting) = try await pool.withConnection { connection in
                        proxy.behaviour = .blackHole
                        let waiting = Task { try await pool.withConnection { $0.backendPID } }
                        try await eventually("a second one is being made") { proxy.connections >= 2 }
                        return (connection.backendPID, waiting)
                    }
                    #expect(try await waiting.value == first)
                }
            }
        }
    }

    @Test func aCancelledRequestLeavesTheQueue() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                try await pool.withConnection { _ in
                    let waiting = Task { try await pool.withConnection { _ in } }
                    try await eventually("it waits") { pool.counts.waiting > 0 }
                    waiting.cancel()
                    await #expect(throws: CancellationError.self) { try await waiting.value }
                    #expect(pool.counts.waiting == 0)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func manyTasksShareAFewConnections() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 3) { pool in
                let pids = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<300 {
                        group.addTask {
                            try await pool.withConnection { try $0.one("select pg_backend_pid()", as: Int.self) }
                        }
                    }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect((1...3).contains(pids.count))
                #expect(pool.counts.waiting == 0)
                // A connection that no request waits for any more may still be being made.
                try await eventually("none is being made") { pool.counts.inUse == 0 }
            }
        }
    }

    @Test func aWrongDatabaseFailsAtOnceAndIsNamed() async throws {
        let cluster = try TestCluster.shared()
        var configuration = ConnectionConfiguration(
            conninfo: cluster.conninfo(database: "no_such_database", user: "postgres")
        )
        // "At once" is the first answer, however long that takes.
        configuration.connectTimeout = .seconds(60)
        let error = try await PostgresError.expected {
            try await Pool.withPool(PoolConfiguration(connection: configuration), logger: .silent) {
                try await $0.withConnection { _ in }
            }
        }
        #expect(error.code == .connectionFailed && error.sqlState == .invalidCatalogName && !error.isTransient)
    }

    @Test func aPreparedStatementOutlivesAChangeOfItsTable() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int)")
                try connection.execute("insert into t values (1)")
                for _ in 0..<5 { _ = try connection.query("select * from t", as: Int.self) }
                let names = try connection.one("select count(*) from pg_prepared_statements", as: Int.self)
                #expect(names == 1)
                // The cached plan's result type has changed: an error 0A000 without the second attempt.
                try connection.execute("alter table t alter id type bigint")
                #expect(try connection.query("select * from t", as: Int.self) == [1])
                // An error 26000 without the second attempt.
                for _ in 0..<5 { _ = try connection.query("select id from t", as: Int.self) }
                try connection.script(unsafeSQL: "deallocate all")
                #expect(try connection.query("select id from t", as: Int.self) == [1])
            }
        }
    }
}
