import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct CopyTests {
    private struct Stop: Error {}

    @Test func rowsGoInAndComeOut() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute(
                    "create temp table t (id int, name text, seen timestamptz, tags text[], raw bytea, at uuid)"
                )
                let id = UUID()
                let date = Date(timeIntervalSince1970: 1_700_000_000.25)
                let count = try connection.copyIn("copy t from stdin") { rows in
                    try rows.append(1, "tab\tline\nback\\slash", date, ["a", "b,\"c\""], [0, 255] as [UInt8], id)
                    for number in 2...20_000 {
                        try rows.append(number, nil as String?, Date.distantFuture, [] as [String], [] as [UInt8], id)
                    }
                }
                #expect(count == 20_000)
                let first = try connection.one(
                    "select name, seen, tags, raw, at from t where id = 1",
                    as: (String, Date, [String], [UInt8], UUID).self
                )
                #expect(first == ("tab\tline\nback\\slash", date, ["a", "b,\"c\""], [0, 255], id))
                var lines: [String] = []
                let out = try connection.copyOut("copy (select id, name from t order by id limit 2) to stdout") { row in
                    lines.append(String(decoding: row, as: UTF8.self))
                }
                #expect(out == 2)
                #expect(lines == ["1\ttab\\tline\\nback\\\\slash\n", "2\t\\N\n"])
            }
        }
    }

    @Test func aFailureLeavesNothingBehind() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int primary key)")
                #expect(throws: Stop.self) {
                    try connection.copyIn("copy t from stdin") { rows in
                        try rows.append(1)
                        throw Stop()
                    }
                }
                let duplicate = try #require(throws: PostgresError.self) {
                    try connection.copyIn("copy t from stdin") { rows in
                        for number in 0..<100_000 { try rows.append(number % 90_000) }
                    }
                }
                #expect(duplicate.sqlState == .uniqueViolation)
                #expect(throws: Stop.self) {
                    try connection.copyOut("copy (select generate_series(1, 100000000)) to stdout") { _ in throw Stop()
                    }
                }
                #expect(try connection.one("select count(*) from t", as: Int.self) == 0)
            }
        }
    }

    @Test func theWrongKindOfStatementIsRefused() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int)")
                let calls: [@Sendable (isolated Connection) throws -> Void] = [
                    { try $0.execute("copy t from stdin") },
                    { try $0.execute("copy t to stdout") },
                    { try $0.copyIn("select 1") { _ in } },
                    { try $0.copyIn("copy t to stdout") { _ in } },
                    { try $0.copyOut("copy t from stdin") { _ in } },
                ]
                for call in calls {
                    let error = try #require(throws: PostgresError.self) { try call(connection) }
                    #expect(error.code == .unexpectedResult)
                    #expect(try connection.one("select 1", as: Int.self) == 1)
                }
            }
        }
    }

    @Test func cancellingStopsBothDirections() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                _ = try await pool.withConnection { try $0.execute("create table t (id int)") }
                let loading = Task {
                    try await pool.withConnection { connection in
                        try connection.copyIn("copy t from stdin") { rows in
                            while true { try rows.append(1) }
                        }
                    }
                }
                try await database.waitUntilRunning("copy t")
                loading.cancel()
                await #expect(throws: CancellationError.self) { try await loading.value }
                let reading = Task {
                    try await pool.withConnection { connection in
                        try connection.copyOut("copy (select generate_series(1, 2000000000)) to stdout") { _ in }
                    }
                }
                try await database.waitUntilRunning("copy (select")
                reading.cancel()
                await #expect(throws: CancellationError.self) { try await reading.value }
                #expect(try await pool.withConnection { try $0.one("select count(*) from t", as: Int.self) } == 0)
            }
        }
    }
}
