import Foundation
import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StreamTests {
    private struct Stop: Error {}

    /// In a process of its own, whose memory no other test fills.
    @Test func aBigResultTakesLittleMemory() async {
        await #expect(processExitsWith: .success) {
            try await TestDatabase.with(.empty) { database in
                try await database.withConnection { connection in
                    // 100 MB on the wire.
                    let before = try residentMegabytes()
                    var peak = before
                    var count = 0
                    try connection.stream(
                        "select n, repeat('x', 1000) from generate_series(1, \(100_000)) n",
                        as: (Int, String).self
                    ) { number, text in
                        count += 1
                        precondition(number == count && text.utf8.count == 1000)
                        if count % 10_000 == 0 { peak = max(peak, try residentMegabytes()) }
                    }
                    precondition(count == 100_000, "rows are missing")
                    precondition(peak - before < 10, "grew by \(peak - before) MB")
                }
            }
        }
    }

    @Test func stoppingEarlyLeavesTheConnectionUsable() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                var count = 0
                #expect(throws: Stop.self) {
                    try connection.stream("select generate_series(1, 100000000)", as: Int.self) { _ in
                        count += 1
                        if count == 3 { throw Stop() }
                    }
                }
                let value = try connection.one("select 1", as: Int.self)
                #expect(value == 1)
            }
        }
    }

    @Test func anErrorMayComeAfterRows() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                var count = 0
                let error = try #require(throws: PostgresError.self) {
                    try connection.stream("select 1 / (3 - n) from generate_series(1, 5) n", as: Int.self) { _ in
                        count += 1
                    }
                }
                #expect(error.sqlState == .divisionByZero && count == 2)
            }
        }
    }

    @Test func aCallFromInsideIsRefused() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let error = try #require(throws: PostgresError.self) {
                    try connection.stream("select generate_series(1, 5)", as: Int.self) { _ in
                        try connection.execute("select 1")
                    }
                }
                #expect(error.code == .connectionBusy)
                let value = try connection.one("select 1", as: Int.self)
                #expect(value == 1)
            }
        }
    }
}

private func residentMegabytes() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (Int(fields[1]) ?? 0) * 4096 >> 20
}
