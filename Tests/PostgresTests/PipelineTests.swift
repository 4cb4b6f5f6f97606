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
}
