import Foundation
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(5))) struct CodingTests {
    /// Sends each value to the server and back, once in binary and once in the text format that a text column beside it
    /// forces.
    private func roundTrip<Value: PostgresEncodable & PostgresDecodable & Equatable>(
        _ values: [Value],
        type: String,
        _ connection: isolated Connection,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        for value in values {
            let binary = try connection.one("select \(value)::\(unsafeSQL: type)", as: Value.self)
            #expect(binary == value, "binary \(type)", sourceLocation: location)
            let text = try connection.one("select \(value)::\(unsafeSQL: type), ''::text", as: (Value, String).self)
            #expect(text.0 == value, "text \(type)", sourceLocation: location)
            let absent = try connection.one("select \(nil as Value?)::\(unsafeSQL: type)", as: Value?.self)
            #expect(absent == nil, sourceLocation: location)
        }
    }

    @Test func everyTypeGoesThereAndBack() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try self.roundTrip([true, false], type: "bool", connection)
                try self.roundTrip([Int16.min, 0, .max], type: "int2", connection)
                try self.roundTrip([Int32.min, 0, .max], type: "int4", connection)
                try self.roundTrip([Int64.min, 0, .max], type: "int8", connection)
                try self.roundTrip([Int.min, -1, .max], type: "int8", connection)
                try self.roundTrip([0, -1.5, 1e300, .infinity, -.infinity, 5e-300], type: "float8", connection)
                try self.roundTrip(["", "a", "Ä\n\t\\ \"'", "👩‍👩‍👧"], type: "text", connection)
                try self.roundTrip([UUID(), UUID()], type: "uuid", connection)
                try self.roundTrip([[], [0], Array(0...255)] as [[UInt8]], type: "bytea", connection)
                try self.roundTrip([[], [1, -2], [.max]] as [[Int]], type: "int8[]", connection)
                try self.roundTrip([[1, nil, 3]] as [[Int32?]], type: "int4[]", connection)
                try self.roundTrip([[true, false]] as [[Bool]], type: "bool[]", connection)
                try self.roundTrip([[1.5, .infinity]] as [[Double]], type: "float8[]", connection)
                try self.roundTrip([[UUID(), UUID()]] as [[UUID]], type: "uuid[]", connection)
                try self.roundTrip(
                    [[], ["", "NULL", "a,b", "{}", "\"quoted\"", "back\\slash", "plain", " "]] as [[String]],
                    type: "text[]",
                    connection
                )
                try self.roundTrip([["a", nil, ""]] as [[String?]], type: "text[]", connection)
                let nan = try connection.one("select \(Double.nan), 'nan'::float8", as: (Double, Double).self)
                #expect(nan.0.isNaN && nan.1.isNaN)
            }
        }
    }

    /// Beside a text column bytes come in text format, and behind a transaction pooler the database's own
    /// `bytea_output` applies.
    @Test func bytesAreReadWhateverFormTheDatabaseHasForThem() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set bytea_output = 'escape'")
            var configuration = database.configuration
            configuration.pooler = .transaction
            try await Connection.with(configuration, logger: .silent) { connection in
                for sent: [UInt8] in [[], [0, 92, 97, 255], Array("\\x41".utf8)] {
                    let (bytes, text) = try connection.one("select \(sent), 'beside'::text", as: ([UInt8], String).self)
                    #expect(bytes == sent && text == "beside")
                }
            }
        }
    }

    @Test func timesKeepMicrosecondsInfinityAndYearsBeforeChrist() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let dates = [
                    Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSince1970: 1_795_302_776.125),
                    Date(timeIntervalSince1970: -0.5), Date(timeIntervalSince1970: -62_200_000_000), .distantPast,
                    .distantFuture,
                ]
                try self.roundTrip(dates, type: "timestamptz", connection)
                try self.roundTrip([dates], type: "timestamptz[]", connection)
                for zone in ["UTC", "Asia/Kolkata", "America/St_Johns", "Africa/Monrovia"] {
                    try connection.script(unsafeSQL: "set timezone to '\(zone)'")
                    try self.roundTrip(dates, type: "timestamptz", connection)
                }
                let infinity = try connection.one("select \(Date.distantFuture)::text", as: String.self)
                #expect(infinity == "infinity")
                let error = try #require(throws: PostgresError.self) {
                    try connection.execute("select \(Date(timeIntervalSinceReferenceDate: .nan))")
                }
                #expect(error.code == .encoding)
            }
        }
    }

    @Test(arguments: [
        ("2026-11-20 23:12:56.123456+00", Int64(848_531_576_123_456)), ("2000-01-01 00:00:00+00", 0),
        ("1999-12-31 23:59:59.5-00:00:01", 500_000), ("2000-01-01 05:30:00+05:30", 0),
        ("0001-12-31 00:00:00+00 BC", -63_082_368_000_000_000), ("infinity", .max),
    ])
    func timeTextIsRead(text: String, microseconds: Int64) {
        #expect(PostgresTime.microseconds(text) == microseconds)
    }

    @Test(arguments: ["", "2026", "2026-13-01 00:00:00+00", "2026-01-01 00:00:00", "2026-01-01 00:00:00+00 AD", "now"])
    func otherTimeTextIsRefused(text: String) {
        #expect(PostgresTime.microseconds(text) == nil)
    }

    @Test func jsonGoesThroughCodable() async throws {
        struct Person: Codable, Equatable {
            var name: String
            var since: Date
        }
        let person = Person(name: "Änne \"A\"", since: Date(timeIntervalSince1970: 1_700_000_000))
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let read = try connection.one(
                    "select \(JSON(person)), \(JSON(person)) ->> 'since'",
                    as: (JSON<Person>, String).self
                )
                #expect(read.0.value == person)
                #expect(read.1 == "2023-11-14T22:13:20Z")
            }
        }
    }

    @Test func textIsTakenForWhatTheContextWants() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create type pg_temp.mood as enum ('fine', 'poor')")
                try connection.execute("create temp table t (mood pg_temp.mood, address inet, amount numeric)")
                try connection.execute("insert into t values (\("fine"), \("10.0.0.1"), \("12.50"))")
                let row = try connection.one("select mood, address, amount from t", as: (String, String, String).self)
                #expect(row == ("fine", "10.0.0.1", "12.50"))
            }
        }
    }

    private enum Mood: String, PostgresDecodable {
        case fine, poor
    }

    private func reason(
        _ statement: Statement,
        _ type: (some PostgresDecodable).Type,
        _ connection: isolated Connection
    ) throws -> String {
        let error = try #require(throws: PostgresError.self) { try connection.query(statement, as: type) }
        #expect(error.code == .decoding && error.connectionUsable)
        return error.description
    }

    @Test func aDecodingErrorNamesColumnTypeAndStatement() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let absent = try self.reason("select null::int4 as age", Int.self, connection)
                #expect(absent.contains("\"age\"") && absent.contains("integer") && absent.contains("NULL"))
                #expect(absent.contains("Int") && absent.contains("select null::int4 as age"))
                #expect(try self.reason("select 1.5::numeric as price", Double.self, connection).contains("numeric"))
                #expect(try self.reason("select 70000 as n", Int16.self, connection).contains("does not fit"))
                let word = try connection.one("select 1, 'poor'", as: (Int, Mood).self)
                #expect(word == (1, .poor))
                #expect(try self.reason("select 'odd' as mood", Mood.self, connection).contains("does not fit"))
                #expect(
                    try self.reason("select array[[1,2],[3,4]] as grid", [Int].self, connection).contains("\"grid\"")
                )
                #expect(
                    try self.reason("select array[['a','b'],['c','d']] as grid", [String].self, connection).contains(
                        "\"grid\""
                    )
                )
                let columns = try #require(throws: PostgresError.self) {
                    try connection.query("select 1, 2", as: Int.self)
                }
                #expect(columns.code == .unexpectedColumns)
                let rows = try #require(throws: PostgresError.self) {
                    try connection.one("select generate_series(1, 2)", as: Int.self)
                }
                #expect(rows.code == .unexpectedRowCount)
                #expect(try connection.one("select 1", as: Int.self) == 1)
            }
        }
    }

    @Test func aNULInTextIsRefusedBeforeItIsSent() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let error = try #require(throws: PostgresError.self) {
                    try connection.execute("select \("a\0b")::text")
                }
                #expect(error.code == .encoding && error.description.contains("NUL"))
            }
        }
    }
}
