import Foundation
import LibPQ
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
            try await database.psql("alter database \(database.name) set statement_timeout = '1s'")
            try await PgBouncer.with(.transaction, poolSize: 1, to: database.cluster) { bouncer in
                var configuration = ConnectionConfiguration(conninfo: bouncer.conninfo(database: database.name))
                configuration.pooler = .transaction
                try await Connection.with(configuration, logger: .silent) { connection in
                    let slow: Statement = "select 1 from pg_sleep(1.5)"
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
                    #expect(limit == "1s")
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

    /// PgBouncer passes on the server's last message, and adds one of its own that says less.
    @Test func whyTheServerEndedASessionIsKnown() async throws {
        let connection = try Connection(configuration: ConnectionConfiguration(), logger: .silent)
        for (state, message) in [
            ("57P01", "terminating connection due to administrator command"), ("08P01", "server conn crashed?"),
        ] {
            await connection.took(Diagnostics([.severity: "FATAL", .sqlState: state, .message: message]))
        }
        let word = await connection.lastWord
        #expect(word?.sqlState == SQLState.adminShutdown.rawValue)
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
                let error = try await bouncer.whileOccupied(in: database) { [configuration] _ in
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
}
