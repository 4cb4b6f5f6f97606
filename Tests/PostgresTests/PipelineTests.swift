import Postgres
import TestSupport
import Testing

@Suite struct PipelineTests {
    @Test func aBatchIsOneTransaction() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int primary key)")
                let counts = try connection.pipeline((1...1000).map { "insert into t values (\($0))" })
                #expect(counts == Array(repeating: 1, count: 1000))
                let error = try #require(throws: PostgresError.self) {
                    try connection.pipeline([1001, 1002, 5, 1003].map { "insert into t values (\($0))" })
                }
                #expect(error.sqlState == .uniqueViolation && error.connectionUsable)
                #expect(error.description.contains("statement 3 of the batch"))
                #expect(try connection.one("select count(*) from t", as: Int.self) == 1000)
            }
        }
    }

    @Test func differentStatementsKeepTheirOrder() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let rows = try connection.pipeline(
                    ["select \(1)", "select generate_series(1, \(3))", "select 1 where false"],
                    as: Int.self
                )
                #expect(rows == [[1], [1, 2, 3], []])
                let error = try #require(throws: PostgresError.self) {
                    try connection.pipeline(["select 1", "select 1/0", "selec"])
                }
                #expect(error.sqlState == .divisionByZero && error.description.contains("statement 2 of the batch"))
                #expect(try connection.pipeline([]) == [])
            }
        }
    }

    /// Neither side's buffers hold what the other sends: a client that only sent would wait for ever.
    @Test func bigBatchesWithBigResultsDoNotDeadlock() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let text = String(repeating: "x", count: 100_000)
                let rows = try connection.pipeline((0..<300).map { _ in "select \(text)::text" }, as: String.self)
                #expect(rows.count == 300 && rows.allSatisfy { $0 == [text] })
            }
        }
    }

    @Test func aDeadlineStopsABatch() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let error = try #require(throws: PostgresError.self) {
                    try connection.pipeline(
                        ["select 1", "select pg_sleep(60)", "select 2"],
                        deadline: .milliseconds(200)
                    )
                }
                #expect(error.code == .deadlineExceeded && error.connectionUsable)
                #expect(try connection.one("select 1", as: Int.self) == 1)
            }
        }
    }

    /// The first statement ends while most of the batch has not been sent: libpq answers for what it was given only.
    @Test(arguments: ["1/0", "pg_sleep(60)"])
    func aBigBatchThatEndsEarlyIsOver(end: String) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let text = String(repeating: "x", count: 4096)
                let first: Statement = "select pg_sleep(0.2), \(unsafeSQL: end)"
                let rest: [Statement] = (0..<5000).map { _ in "select \(text)::text" }
                let error = try #require(throws: PostgresError.self) {
                    try connection.pipeline([first] + rest, deadline: .seconds(1))
                }
                #expect(error.connectionUsable && error.description.contains("statement 1 of the batch"))
                #expect(error.code == .deadlineExceeded || error.sqlState == .divisionByZero)
                #expect(try connection.one("select 1", as: Int.self) == 1)
            }
        }
    }

    @Test func aCopyInABatchIsRefused() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                try await pool.withConnection { try $0.execute("create table t (id int)") }
                for copy: Statement in ["copy (select 1) to stdout", "copy t from stdin"] {
                    let error = try await PostgresError.expected {
                        try await pool.withConnection { try $0.pipeline(["select 1", copy, "select 2"]) }
                    }
                    #expect(error.code == .unexpectedResult && !error.connectionUsable)
                    #expect(try await pool.withConnection { try $0.one("select 1", as: Int.self) } == 1)
                }
            }
        }
    }
}
