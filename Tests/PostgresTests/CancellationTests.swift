import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    /// A cancel request that is still in flight when the next statement begins must not kill that statement.
    ///
    /// The moment of each cancel is spread over the life of its statement, and the next statement follows at once.
    @Test func aLateCancelNeverHitsTheNextStatement() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1, cancelGrace: .seconds(60)) { pool in
                for race in 0..<500 {
                    // A cancel can only stop a statement that the server has begun. Every 20th is cancelled then, and
                    // shows that cancels arrive; the others may end before theirs does.
                    let isLong = race.isMultiple(of: 20)
                    let seconds = isLong ? 60 : 0.001
                    let task = Task {
                        try await pool.withConnection { try $0.execute("select pg_sleep(\(seconds))") }
                    }
                    if isLong {
                        try await database.waitUntilAsleep(sessions: 1)
                    } else {
                        let until = ContinuousClock.now.advanced(by: .microseconds(race * 37 % 1600))
                        while ContinuousClock.now < until { await Task.yield() }
                    }
                    task.cancel()
                    var isStopped = false
                    do {
                        _ = try await task.value
                    } catch is CancellationError {
                        isStopped = true
                    }
                    try #require(isStopped || !isLong)
                    let innocent = try await pool.withConnection { connection in
                        try connection.one("select \(race) from pg_sleep(0.0005)", as: Int.self)
                    }
                    #expect(innocent == race)
                }
            }
        }
    }

    /// A task that runs a statement within the lease of another task has no cancellation handler that wakes the
    /// connection's thread.
    @Test func aTaskCancelledWhileItsLeaseGoesOnIsNoticed() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let task = Task.detached { try await connection.execute("select pg_sleep(60)") }
                let canceller = Task.detached {
                    try await database.waitUntilRunning("pg_sleep")
                    task.cancel()
                }
                await #expect(throws: CancellationError.self) { try await task.value }
                try await canceller.value
                let value = try connection.one("select 1", as: Int.self)
                #expect(value == 1)
            }
        }
    }

    /// While a statement is being prepared the server has nothing to cancel: the client itself must not run the
    /// statement afterwards.
    @Test func whoIsCancelledWhileAStatementIsPreparedDoesNotRunIt() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                try await database.withConnection(through: proxy, cancelGrace: .seconds(30)) { connection in
                    try connection.execute("create sequence runs")
                    let run: Statement = "select nextval('runs')"
                    // The third run prepares the statement.
                    for _ in 0..<2 { try connection.execute(run) }
                    proxy.behaviour = .mutedAt("accountctl_")
                    let task = Task.detached { try await connection.execute(run) }
                    let canceller = Task.detached {
                        try await eventually("it is being prepared") { proxy.behaviour == .muted }
                        task.cancel()
                        // The cancel request comes over a connection of its own.
                        try await eventually("the request comes") { proxy.connections >= 2 }
                        proxy.behaviour = .forward
                    }
                    await #expect(throws: CancellationError.self) { try await task.value }
                    try await canceller.value
                    let runs = try connection.one("select last_value from runs", as: Int.self)
                    #expect(runs == 2)
                }
            }
        }
    }

    @Test func twoChildTasksShareALease() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool { pool in
                let sum = try await pool.withConnection { connection in
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for child in 1...2 {
                            group.addTask {
                                var sum = 0
                                for number in 1...50 {
                                    sum += try await connection.one("select \(child) * \(number)", as: Int.self)
                                    await Task.yield()
                                }
                                return sum
                            }
                        }
                        var sum = 0
                        for try await part in group { sum += part }
                        return sum
                    }
                }
                #expect(sum == 3 * 1275)
            }
        }
    }

    @Test func theServersOwnLimitIsADeadlineToo() async throws {
        try await TestDatabase.with(.empty) { database in
            var configuration = database.configuration
            configuration.statementDeadline = .seconds(5)
            try await Connection.with(configuration, logger: .silent) { connection in
                let setting = try connection.one("show statement_timeout", as: String.self)
                #expect(setting == "4750ms")
                let slow = try #require(throws: PostgresError.self) { try connection.execute("select pg_sleep(60)") }
                #expect(slow.code == .deadlineExceeded && slow.connectionUsable)
                // A longer deadline of a call reaches the server.
                let raised = try connection.one("show statement_timeout", as: String.self, deadline: .seconds(100))
                #expect(raised == "95s")
            }
        }
    }

    @Test func aServerThatDoesNotAnswerIsAbandonedAfterTheGrace() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let started = ContinuousClock.now
                let error = try await PostgresError.expected {
                    try await database.withConnection(through: proxy, cancelGrace: .milliseconds(300)) { connection in
                        proxy.behaviour = .blackHole
                        try connection.execute("select 1", deadline: .milliseconds(200))
                    }
                }
                #expect(error.code == .abandoned && !error.connectionUsable && !error.outcomeKnown)
                #expect(started.duration(to: .now) < .seconds(60))
            }
        }
    }

    @Test func connectingToADeafServerEndsAtItsDeadline() async throws {
        try await DeafServer.with { port in
            var configuration = ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(port) user=nobody dbname=none")
            configuration.connectTimeout = .milliseconds(200)
            let error = try await PostgresError.expected {
                try await Connection.with(configuration, logger: .silent) { _ in }
            }
            #expect(error.code == .connectionFailed && error.isTransient)
        }
    }

    @Test(.timeLimit(.minutes(5))) func connectingToAServerThatNeverFallsSilentEndsAtItsDeadlineToo() async throws {
        try await FloodingServer.with { port in
            let conninfo = "host=127.0.0.1 port=\(port) user=nobody dbname=none sslmode=disable gssencmode=disable"
            var configuration = ConnectionConfiguration(conninfo: conninfo)
            configuration.connectTimeout = .milliseconds(200)
            let error = try await PostgresError.expected { [configuration] in
                try await Connection.with(configuration, logger: .silent) { _ in }
            }
            #expect(error.code == .connectionFailed && error.isTransient)
        }
    }

    /// The task is cancelled, and the thread woken, before anything waits for the server.
    @Test(.timeLimit(.minutes(5))) func whoIsCancelledAlreadyDoesNotWaitForADeafServer() async throws {
        try await DeafServer.with { port in
            var configuration = ConnectionConfiguration(conninfo: "host=127.0.0.1 port=\(port) user=nobody dbname=none")
            configuration.connectTimeout = .seconds(3600)
            let connecting = Task { [configuration] in
                withUnsafeCurrentTask { $0?.cancel() }
                try await Connection.with(configuration, logger: .silent) { _ in }
            }
            await #expect(throws: CancellationError.self) { try await connecting.value }
        }
    }
}
