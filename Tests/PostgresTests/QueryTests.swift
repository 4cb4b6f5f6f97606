import Foundation
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct QueryTests {
    @Test func readsTypedTuples() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let id = UUID()
                let row = try connection.one(
                    "select \(7), \("anna")::text, \(id), \(true), \(nil as String?)::text",
                    as: (Int, String, UUID, Bool, String?).self
                )
                #expect(row == (7, "anna", id, true, nil))
                let numbers = try connection.query("select n from generate_series(1, \(3)) n", as: Int.self)
                #expect(numbers == [1, 2, 3])
                #expect(try connection.first("select 1 where false", as: Int.self) == nil)
            }
        }
    }

    @Test func readsRowsByTheNamesOfTheirColumns() async throws {
        struct Row: Equatable {
            let number: Int
            let text: String
            let note: String?
        }
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let two: Statement = """
                    select n, 'row ' || n, case when n > 1 then 'later' end
                    from generate_series(1, 2) as n
                    """
                let first = Row(number: 1, text: "row 1", note: nil)
                let second = Row(number: 2, text: "row 2", note: "later")
                #expect(try connection.query(two, into: Row.init) == [first, second])
                #expect(try connection.first(two + " limit 1", into: Row.init) == first)
                #expect(try connection.first(two + " where false", into: Row.init) == nil)
                let short = try #require(throws: PostgresError.self) {
                    try connection.query("select 1, 'a'", into: Row.init)
                }
                #expect(short.code == .unexpectedColumns)
                let many = try #require(throws: PostgresError.self) { try connection.first(two, into: Row.init) }
                #expect(many.code == .unexpectedRowCount)
            }
        }
    }

    @Test func aStatementThatCopiesIsRefused() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int)")
                try connection.execute("insert into t select generate_series(1, 10000)")
                for copy: Statement in ["copy t from stdin", "copy t to stdout"] {
                    let calls: [@Sendable (isolated Connection) throws -> Void] = [
                        { try $0.execute(copy) }, { try $0.stream(copy, as: String.self) { _ in } },
                    ]
                    for call in calls {
                        let error = try #require(throws: PostgresError.self) { try call(connection) }
                        #expect(error.code == .unexpectedResult && error.connectionUsable)
                        #expect(try connection.one("select count(*) from t", as: Int.self) == 10_000)
                    }
                }
            }
        }
    }

    @Test func errorsCarryTheSQLState() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int constraint t_key primary key)")
                #expect(try connection.execute("insert into t values (\(1)), (\(2))") == 2)
                do {
                    try connection.execute("insert into t values (\(1))")
                    Issue.record("a duplicate key went in")
                } catch SQLState.uniqueViolation {
                    // Expected.
                }
                let error = try #require(throws: PostgresError.self) {
                    try connection.execute("insert into t values (\(1))")
                }
                #expect(error.code == .server && error.connectionUsable && error.outcomeKnown)
                #expect(error.diagnostics?.constraint == "t_key")
                #expect(!error.description.contains("already exists"))
                #expect(error.debugDescription.contains("Key (id)=(1) already exists"))
            }
        }
    }

    @Test func transactionsCommitAndRollBack() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool { pool in
                _ = try await pool.withConnection { connection in
                    try connection.execute("create table t (id int)")
                }
                struct Stop: Error {}
                await #expect(throws: Stop.self) {
                    try await pool.withTransaction { connection in
                        try connection.execute("insert into t values (1)")
                        throw Stop()
                    }
                }
                try await pool.withTransaction { connection in
                    try connection.execute("insert into t values (2)")
                    _ = try? await connection.savepoint { connection in
                        try connection.execute("insert into t values (3)")
                        try connection.execute("select 1/0")
                    }
                    try connection.execute("insert into t values (4)")
                }
                let ids = try await pool.withConnection { try $0.query("select id from t order by id", as: Int.self) }
                #expect(ids == [2, 4])
            }
        }
    }

    @Test func cancellingLeavesTheConnectionUsable() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                let pid = try await pool.withConnection { $0.backendPID }
                let started = ContinuousClock.now
                let task = Task {
                    try await pool.withConnection { try $0.execute("select pg_sleep(60)") }
                }
                try await database.waitUntilRunning("pg_sleep")
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(started.duration(to: .now) < .seconds(30))
                let again = try await pool.withConnection { connection in
                    (connection.backendPID, try connection.one("select 1", as: Int.self))
                }
                #expect(again == (pid, 1))
            }
        }
    }

    @Test func aDeadlineStopsTheStatement() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let error = try #require(throws: PostgresError.self) {
                    try connection.execute("select pg_sleep(60)", deadline: .milliseconds(100))
                }
                #expect(error.code == .deadlineExceeded && error.connectionUsable)
                #expect(try connection.one("select 1", as: Int.self) == 1)
            }
        }
    }
}
