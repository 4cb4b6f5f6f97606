import Foundation
import Logging
import Migrations
import Postgres
import TestSupport
import Testing

@Suite("The migration engine", .timeLimit(.minutes(5)))
struct MigrationEngineTests {
    static let logger = Logger.silent

    static func migration(_ number: Int, _ sql: String, head: String = "bundle=core") throws -> Migration {
        try Migration(fileName: "000\(number)_step.sql", text: "-- accountctl: \(head)\n\(sql)\n")
    }

    static func set(_ migrations: Migration...) throws -> MigrationSet { try MigrationSet(migrations) }

    static func engine(
        _ set: MigrationSet,
        _ database: TestDatabase,
        options: MigrationEngine.Options = MigrationEngine.Options(),
        event: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) -> MigrationEngine {
        var configuration = database.configuration
        configuration.statementDeadline = nil
        return MigrationEngine(set: set, configuration: configuration, options: options, logger: logger, event: event)
    }

    @discardableResult
    static func up(
        _ set: MigrationSet,
        _ database: TestDatabase,
        bundles: [String]? = nil,
        options: MigrationEngine.Options = MigrationEngine.Options(),
        event: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) async throws -> MigrationEngine.Report {
        let engine = engine(set, database, options: options, event: event)
        return try await database.withConnection { connection in
            try await engine.up(bundles: bundles, on: connection)
        }
    }

    @Test("Each migration is applied once, and its row of the history is written with it")
    func appliesOnce() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "insert into t values (1);")
            )
            #expect(try await Self.up(set, database).applied == ["0001_step.sql", "0002_step.sql"])
            #expect(try await Self.up(set, database).applied.isEmpty)
            #expect(try await database.psql("select count(*) from t") == "1")
            let rows = try await database.psql("select number, state, applied_by from accountctl.migrations order by 1")
            #expect(rows == "1|done|postgres\n2|done|postgres")
        }
    }

    @Test("A migration that fails leaves nothing behind, and the migrations before it stay applied")
    func failureLeavesNothing() async throws {
        try await TestDatabase.with(.empty) { database in
            let good = try Self.migration(1, "create table t (i int);")
            let bad = try Self.set(good, Self.migration(2, "insert into t values (1); select 1 / 0;"))
            let error = await #expect(throws: MigrationError.self) { try await Self.up(bad, database) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("0002_step.sql failed: division by zero") == true)
            #expect(
                try await database.psql("select (select count(*) from t), count(*) from accountctl.migrations") == "0|1"
            )
            let mended = try Self.set(good, Self.migration(2, "insert into t values (1);"))
            #expect(try await Self.up(mended, database).applied == ["0002_step.sql"])
        }
    }

    @Test(
        "A process that dies between any two statements leaves a state from which the next run succeeds",
        arguments: 0...4
    )
    func diesBetweenStatements(_ after: Int) async throws {
        try await TestDatabase.with(.empty) { database in
            let statements = [
                "create table a (i int)", "insert into a values (1)", "create table b (i int)",
                "insert into b values (1)",
            ]
            // The server process ends at exactly this statement, as it does when its client is killed.
            var dying = statements
            dying.insert("select pg_terminate_backend(pg_backend_pid())", at: after)
            let first = try Self.migration(1, "create table before (i int);")
            await #expect(throws: (any Error).self) {
                try await Self.up(
                    Self.set(first, Self.migration(2, dying.joined(separator: ";\n"))),
                    database
                )
            }
            let whole = try Self.set(first, Self.migration(2, statements.joined(separator: ";\n")))
            #expect(try await Self.up(whole, database).applied == ["0002_step.sql"])
            #expect(try await database.psql("select (select count(*) from a), (select count(*) from b)") == "1|1")
            let held = try await database.psql(
                """
                select count(*)
                from pg_locks as l
                join pg_database as d on d.oid = l.database
                where l.locktype = 'advisory'
                  and d.datname = current_database()
                """
            )
            #expect(held == "0")
        }
    }

    @Test("A conflict with a later migration stops the run before it has changed anything")
    func refused() async throws {
        try await TestDatabase.with(.platform) { database in
            let set = try MigrationSet.embedded()
            let mayNotRule = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
            #expect(mayNotRule?.code == .refused)
            try await database.psql(
                "create function public.receive_apple_notification(body jsonb) returns void language sql as 'select'"
            )
            let taken = await #expect(throws: MigrationError.self) {
                try await Self.up(set, database, bundles: ["core"])
            }
            #expect(taken?.code == .refused)
            #expect(taken?.message.contains("public.receive_apple_notification(body jsonb) exists already") == true)
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
        }
    }

    @Test("A role that does not own the schema is refused before anything is tried")
    func anotherRole() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(1, "create table accountctl.t (i int);")
            try await Self.up(Self.set(first), database)
            let both = try Self.set(first, Self.migration(2, "create table accountctl.u (i int);"))
            let engine = Self.engine(both, database)
            let error = await #expect(throws: MigrationError.self) {
                try await database.withConnection(asAdministrator: true) { _ = try await engine.up(on: $0) }
            }
            #expect(error?.code == .refused)
            #expect(error?.message.contains("belongs to the role postgres, and this is supabase_admin") == true)
            #expect(try await Self.up(both, database).applied == ["0002_step.sql"])
            // With nothing to apply, any role may run it.
            let again = try await database.withConnection(asAdministrator: true) { try await engine.up(on: $0) }
            #expect(again.applied.isEmpty)
        }
    }

    @Test("A server in read-only mode says so before anything is tried")
    func readOnly() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set default_transaction_read_only = on")
            let set = try Self.set(Self.migration(1, "create table t (i int);"))
            let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
            #expect(error?.code == .readOnly)
        }
    }
}
