import Foundation
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(5))) struct PoolerTests {
    @Test func aTransactionPoolerIsFoundOutAndLivedWith() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                var pool = PoolConfiguration(connection: configuration)
                pool.maximumConnections = 8
                try await Pool.withPool(pool, logger: .silent) { pool in
                    #expect(try await pool.withConnection { $0.route } == .transactionPooler)
                    // More clients than server connections, and the same statement often enough that it would be
                    // prepared on another server process.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for task in 0..<8 {
                            group.addTask {
                                for number in 0..<20 {
                                    try await pool.withTransaction { connection in
                                        let value = try connection.one("select \(task) * \(number)", as: Int.self)
                                        #expect(value == task * number)
                                    }
                                }
                            }
                        }
                        try await group.waitForAll()
                    }
                    // None of our settings stays on a server process that other clients use.
                    let limit = try await pool.withConnection { try $0.one("show statement_timeout", as: String.self) }
                    #expect(limit == "0")
                }
                try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                    var events = events.makeAsyncIterator()
                    guard case .unavailable(let error) = await events.next() else {
                        Issue.record("LISTEN behind a transaction pooler")
                        return
                    }
                    #expect(error.code == .notBehindPooler && error.description.contains("5432"))
                    #expect(await events.next() == nil)
                }
            }
        }
    }

    /// The limit is raised within a transaction even if the database's own is lower, since a limit of the session would
    /// stay on a server process that other clients use.
    @Test func aCallThatMayTakeLongIsAllowedAsLongByTheServer() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set statement_timeout = '300ms'")
            try await PgBouncer.with(.transaction, poolSize: 1, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.pooler = .transaction
                try await Connection.with(configuration, logger: .silent) { connection in
                    let slow: Statement = "select 1 from pg_sleep(0.5)"
                    let long = Duration.seconds(60)
                    let brief = Result { try connection.one(slow, as: Int.self) }
                    #expect(throws: PostgresError.self) { try brief.get() }
                    var answers = [try connection.one(slow, as: Int.self, deadline: long)]
                    answers += try connection.query(slow, as: Int.self, deadline: long)
                    try connection.stream(slow, as: Int.self, deadline: long) { answers.append($0) }
                    try await connection.transaction { connection in
                        answers.append(try connection.one(slow, as: Int.self, deadline: long))
                        try connection.execute(slow, deadline: long)
                    }
                    #expect(answers == [1, 1, 1, 1])
                    // The raised limit does not outlast its transaction, committed or rolled back.
                    let stopped = Result {
                        try connection.stream(slow, as: Int.self, deadline: long) { _ in throw Stopped() }
                    }
                    #expect(throws: Stopped.self) { try stopped.get() }
                    let isInTransaction = connection.isInTransaction
                    #expect(!isInTransaction)
                    let limit = try connection.one("show statement_timeout", as: String.self)
                    #expect(limit == "300ms")
                    let later = try await connection.transaction { connection in
                        try connection.one(slow, as: Int.self, deadline: long)
                    }
                    #expect(later == 1)
                }
            }
        }
    }

    private struct Stopped: Error {}

    /// With these settings patterns in our statements would have another meaning, or times could not be read: a session
    /// overrides them, but behind a transaction pooler there is no session.
    @Test(arguments: [("standard_conforming_strings", "off"), ("datestyle", "german")])
    func aDatabaseOfAnotherFormIsReadInASessionAndRefusedWhereThereIsNone(name: String, value: String) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set \(name) = \(value)")
            let question: Statement = "select '\\m', to_timestamp(0)"
            let (pattern, time) = try await database.withConnection { connection in
                try connection.one(question, as: (String, Date).self)
            }
            #expect(pattern == "\\m" && time == Date(timeIntervalSince1970: 0))
            // Detection must ask the pooler before its kind is known.
            try await PgBouncer.with(.session, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                let (route, row) = try await Connection.with(configuration, logger: .silent) { connection in
                    (connection.route, try connection.one(question, as: (String, Date).self))
                }
                let (pattern, time) = row
                #expect(route == .sessionPooler)
                #expect(pattern == "\\m" && time == Date(timeIntervalSince1970: 0))
            }
            try await PgBouncer.with(.transaction, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                let error = try await PostgresError.expected {
                    try await Connection.with(configuration, logger: .silent) { _ in }
                }
                #expect(error.code == .configuration && error.description.contains(name))
            }
        }
    }

    /// Databases are restored with this setting: foreign keys do not cascade under it, so that a delete would leave
    /// dependent rows behind.
    @Test func aSessionWithoutTriggersIsRefused() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set session_replication_role = replica")
            try await PgBouncer.with(.session, to: database.cluster) { bouncer in
                for conninfo in [database.conninfo, bouncer.conninfo(database: database.name)] {
                    let configuration = ConnectionConfiguration(conninfo: conninfo)
                    let error = try await PostgresError.expected {
                        try await Connection.with(configuration, logger: .silent) { _ in }
                    }
                    #expect(error.code == .configuration, "\(error)")
                    #expect(error.description.contains("session_replication_role"))
                }
            }
        }
    }

    /// Behind a transaction pooler no session can be refused, and an earlier client may have left the setting on the
    /// server process.
    @Test(arguments: [("origin", false), ("replica", true)])
    func aTransactionWithoutTriggersIsRefusedWhereItAsks(role: String, isRefused: Bool) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set session_replication_role = \(role)")
            try await PgBouncer.with(.transaction, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.pooler = .transaction
                let error = try await Connection.with(configuration, logger: .silent) { connection -> PostgresError? in
                    do {
                        try await connection.transaction { try $0.requireTriggers() }
                        return nil
                    } catch let error as PostgresError {
                        return error
                    }
                }
                let expected: PostgresError.Code? = isRefused ? .configuration : nil
                #expect(error?.code == expected)
            }
        }
    }

    @Test func aPoolerWithOneServerProcessIsFoundOutToo() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, poolSize: 1, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                let (route, value) = try await Connection.with(configuration, logger: .silent) { connection in
                    (connection.route, try connection.one("select 42", as: Int.self))
                }
                #expect(route == .transactionPooler)
                #expect(value == 42)
            }
        }
    }

    /// Holding one server process while asking for another, workers that start at once would wait for each other; without
    /// a deadline, as when they look for pending migrations, until the pooler's own.
    @Test func detectionNeedsOneServerProcessAtATime() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["query_wait_timeout = 10"]
            try await PgBouncer.with(.transaction, poolSize: 2, settings: settings, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.statementDeadline = nil
                let route = try await occupying(bouncer, database) { [configuration] _ in
                    try await Connection.with(configuration, logger: .silent) { $0.route }
                }
                #expect(route == .transactionPooler)
            }
        }
    }

    /// With two server processes in turn, a client that alternates with one other would always get the same.
    @Test func aPoolerThatTakesTurnsIsFoundOutToo() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["server_round_robin = 1"]
            try await PgBouncer.with(.transaction, poolSize: 2, settings: settings, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                var unasked = configuration
                unasked.pooler = .transaction
                // The second process is started while the first one is held.
                try await occupying(bouncer, database) { [unasked] _ in
                    try await Connection.with(unasked, logger: .silent) { _ = try $0.execute("select 1") }
                }
                let route = try await Connection.with(configuration, logger: .silent) { $0.route }
                #expect(route == .transactionPooler)
            }
        }
    }

    /// The transaction that a call with a longer limit gets must begin within the call's deadline.
    @Test func aCallWaitsForThePoolerUntilItsDeadline() async throws {
        try await TestDatabase.with(.empty) { database in
            let settings = ["query_wait_timeout = 10"]
            try await PgBouncer.with(.transaction, poolSize: 1, settings: settings, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.pooler = .transaction
                configuration.statementDeadline = nil
                configuration.cancelGrace = .milliseconds(100)
                let error = try await occupying(bouncer, database) { [configuration] _ in
                    try await PostgresError.expected {
                        try await Connection.with(configuration, logger: .silent) { connection in
                            try connection.one("select 1", as: Int.self, deadline: .milliseconds(300))
                        }
                    }
                }
                #expect(error.code == .abandoned, "\(error)")
            }
        }
    }

    /// Clients that connect at once take each other's server processes, from which none may conclude that the pooler
    /// keeps sessions; a client that waits too long for a process may conclude nothing.
    @Test func aBusyTransactionPoolerIsNotTakenForOneOfSessions() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.transaction, poolSize: 20, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                // The pooler starts one process at a time, and a late answer must count as well.
                configuration.cancelGrace = .seconds(60)
                try await withThrowingTaskGroup(of: Route.self) { [configuration] group in
                    for _ in 0..<8 {
                        group.addTask { try await Connection.with(configuration, logger: .silent) { $0.route } }
                    }
                    for try await route in group { #expect(!route.keepsSession) }
                }
            }
        }
    }

    /// Supavisor may be configured to refuse session state, which detecting the kind of pooler would leave behind.
    @Test func theSharedPoolerIsNotAskedWhetherItIsAServer() async throws {
        try await TestDatabase.with(.empty) { database in
            let place = database.conninfo(port: database.cluster.port)
            let conninfo = place + " host=aws-0-eu-west-1.pooler.supabase.com hostaddr=127.0.0.1"
            let configuration = ConnectionConfiguration(conninfo: conninfo)
            let route = try await Connection.with(configuration, logger: .silent) { $0.route }
            // Detection would have found that this is a server.
            #expect(route == .sessionPooler)
        }
    }

    @Test func aSessionPoolerIsAsGoodAsNone() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await Connection.with(configuration, logger: .silent) { connection in
                    #expect(connection.route == .sessionPooler)
                    for number in 0..<5 {
                        let value = try connection.one("select \(number)", as: Int.self)
                        #expect(value == number)
                    }
                }
                try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                    for await event in events {
                        switch event {
                        case .listening: try await database.psql("notify jobs")
                        case .notification: return
                        case .lost, .unavailable: Issue.record("\(event)")
                        }
                    }
                }
            }
        }
    }

    /// Holds one of the pooler's server processes in a transaction until `body` calls the closure that it is given, or
    /// ends.
    private func occupying<Result: Sendable>(
        _ bouncer: PgBouncer,
        _ database: TestDatabase,
        _ body: (_ leave: @Sendable () -> Void) async throws -> Result
    ) async throws -> Result {
        var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
        configuration.pooler = .transaction
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [configuration] in
                try await Connection.with(configuration, logger: .silent) { connection in
                    try await connection.transaction { _ in
                        arrival.finish()
                        for await _ in ends {}
                    }
                }
            }
            for await _ in arrivals {}
            let result = try await body { end.finish() }
            group.cancelAll()
            return result
        }
    }

    /// Detection takes a second connection; when none is to be had the kind of pooler stays unknown, and detection runs
    /// again.
    @Test func aFullSessionPoolerIsNotTakenForOneOfTransactionsByAListener() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, poolSize: 2, to: database.cluster) { bouncer in
                let configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await occupying(bouncer, database) { leave in
                    try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                        var isFirst = true
                        for await event in events {
                            switch event {
                            case .lost(let error):
                                #expect(error.isTransient, "\(error)")
                                if isFirst { leave() }
                                isFirst = false
                            case .listening:
                                #expect(!isFirst)
                                return
                            case .notification, .unavailable:
                                Issue.record("\(event)")
                                return
                            }
                        }
                    }
                }
            }
        }
    }

    @Test func aFullSessionPoolerIsAskedAgainByTheNextConnectionOfAPool() async throws {
        try await TestDatabase.with(.empty) { database in
            try await PgBouncer.with(.session, poolSize: 2, to: database.cluster) { bouncer in
                let connection = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                try await occupying(bouncer, database) { leave in
                    try await Pool.withPool(PoolConfiguration(connection: connection), logger: .silent) { pool in
                        var route = try await self.route(pool)
                        #expect(route == .unknownPooler)
                        leave()
                        // The connection comes free once the pooler has noticed that its client is gone.
                        while route == .unknownPooler { route = try await self.route(pool) }
                        #expect(route == .sessionPooler)
                    }
                }
            }
        }
    }

    /// The route of a new connection, which is not reused since a transaction is left open in it.
    private func route(_ pool: Pool) async throws -> Route {
        try await pool.withConnection { connection in
            try connection.script(unsafeSQL: "begin")
            return connection.route
        }
    }

    @Test func aDirectConnectionIsKnownAsOne() async throws {
        try await TestDatabase.with(.empty) { database in
            var configuration = database.configuration
            configuration.pooler = .detect
            let route = try await Connection.with(configuration, logger: .silent) { $0.route }
            #expect(route == .direct)
        }
    }
}
