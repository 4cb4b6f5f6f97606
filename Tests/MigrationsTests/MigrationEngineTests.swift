import Foundation
import Logging
import Migrations
import Postgres
import Synchronization
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

    @Test("Each migration is applied once, with its row")
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

    @Test("A migration that fails leaves nothing of itself, and what was before it")
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
        "A process that dies between any two statements leaves a state from which the next run ends well",
        arguments: 0...4
    )
    func diesBetweenStatements(_ after: Int) async throws {
        try await TestDatabase.with(.empty) { database in
            let statements = [
                "create table a (i int)", "insert into a values (1)", "create table b (i int)",
                "insert into b values (1)",
            ]
            // The server process goes away exactly there, as it does when its client is killed.
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

    @Test("An index left unfinished is dropped and built again")
    func invalidIndex() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(1, "create table t (i int); insert into t values (1), (1);")
            let unique = try Self.migration(
                2,
                "-- why\ncreate unique index concurrently if not exists t_i on public.t (i);",
                head: "bundle=core no-transaction"
            )
            let set = try Self.set(first, unique)
            // Two equal rows: the build fails at its end and leaves an invalid index behind.
            let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
            #expect(error?.code == .failed)
            #expect(
                try await database.psql("select indisvalid from pg_index where indexrelid = 't_i'::regclass") == "f"
            )
            #expect(try await database.psql("select state from accountctl.migrations where number = 2") == "started")
            try await database.psql("delete from t where ctid = (select min(ctid) from t)")
            let dropped = Collected()
            try await Self.up(
                set,
                database,
                event: { event in
                    if case .droppedInvalidIndex(let name) = event { dropped.add([name]) }
                }
            )
            #expect(dropped.all == ["t_i"])
            #expect(
                try await database.psql("select indisvalid from pg_index where indexrelid = 't_i'::regclass") == "t"
            )
            #expect(try await database.psql("select state from accountctl.migrations where number = 2") == "done")
        }
    }

    @Test("A finished index of which the history did not hear is not built again")
    func finishedIndex() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create index concurrently t_i on t (i)", head: "bundle=core no-transaction")
            )
            try await Self.up(set, database)
            let oid = try await database.psql("select 't_i'::regclass::oid")
            try await database.psql("update accountctl.migrations set state = 'started' where number = 2")
            #expect(try await Self.up(set, database).applied == ["0002_step.sql"])
            #expect(try await database.psql("select 't_i'::regclass::oid") == oid)
        }
    }

    @Test("A migration without a transaction leaves the session's settings as they were")
    func settingsAfterOneAlone() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create index concurrently t_i on t (i)", head: "bundle=core no-transaction")
            )
            var options = MigrationEngine.Options()
            options.sessionSettings = ["accountctl.test": "chosen"]
            let engine = Self.engine(set, database, options: options)
            var configuration = database.configuration
            configuration.statementDeadline = nil
            configuration.sessionSettings["lock_timeout"] = "7s"
            try await Connection.with(configuration, logger: Self.logger) { connection in
                let settings: Statement = """
                    select concat_ws(
                        ' ',
                        current_setting('client_connection_check_interval'),
                        current_setting('default_transaction_isolation'),
                        current_setting('idle_in_transaction_session_timeout'),
                        current_setting('lock_timeout'),
                        current_setting('statement_timeout'),
                        current_setting('accountctl.test', true)
                    )
                    """
                let before = try connection.one(settings, as: String.self)
                #expect(before.hasPrefix("10s read committed "))
                try await engine.up(on: connection)
                let after = try connection.one(settings, as: String.self)
                // A setting with a name of ours is empty once it was made.
                #expect(after == before + " ")
            }
        }
    }

    @Test("An edited file, a newer database and a number that comes too late are refused")
    func conflicts() async throws {
        try await TestDatabase.with(.empty) { database in
            let one = try Self.migration(1, "create table t (i int);")
            let three = try Self.migration(3, "create table v (i int);")
            try await Self.up(try Self.set(one, three), database)
            let edited = try Self.set(Self.migration(1, "create table t (j int);"), three)
            let older = try Self.set(one)
            let late = try Self.set(one, Self.migration(2, "create table u (i int);"), three)
            for (set, word) in [(edited, "another text"), (older, "newer version"), (late, "lower number")] {
                let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
                #expect(error?.code == .conflict)
                #expect(error?.message.contains(word) == true)
            }
        }
    }

    @Test("A corrected file counts as applied where the text was that it names as replaced")
    func replaced() async throws {
        try await TestDatabase.with(.empty) { database in
            let former = try Self.migration(1, "create table t (i int);")
            try await Self.up(try Self.set(former), database)
            let other = String(repeating: "0", count: 64)
            let head = "bundle=core replaces=\(former.checksum)"
            let corrected = try Self.set(Self.migration(1, "create table t (j int);", head: head))
            #expect(try await Self.up(corrected, database).applied.isEmpty)
            let foreign = try Self.set(
                Self.migration(1, "create table t (j int);", head: "bundle=core replaces=\(other)")
            )
            let error = await #expect(throws: MigrationError.self) { try await Self.up(foreign, database) }
            #expect(error?.code == .conflict)
        }
    }

    @Test("A bundle left out stays out until it is asked for, and one that was wanted is completed")
    func bundles() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create table p (i int);", head: "bundle=profiles"),
                Self.migration(3, "create table u (i int);")
            )
            #expect(try await Self.up(set, database, bundles: ["core"]).applied.count == 2)
            #expect(try await Self.up(set, database).applied.isEmpty)
            #expect(try await Self.up(set, database, bundles: ["core", "profiles"]).applied == ["0002_step.sql"])
        }
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "select 1 / 0;", head: "bundle=profiles")
            )
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let mended = try Self.set(broken.migrations[0], Self.migration(2, "select 1;", head: "bundle=profiles"))
            #expect(try await Self.up(mended, database).applied == ["0002_step.sql"])
        }
    }

    @Test("A bundle that was wanted and did not come to anything can be left out; one that did cannot")
    func bundleGivenUp() async throws {
        let profiles = try Self.migration(2, "create table p (i int);", head: "bundle=profiles")
        let core = try Self.migration(1, "create table t (i int);")
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(Self.migration(1, "select 1 / 0;"), profiles)
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let report = try await Self.up(Self.set(core, profiles), database, bundles: ["core"])
            #expect(report.applied == ["0001_step.sql"] && report.bundles == ["core"])
            #expect(try await Self.up(Self.set(core, profiles), database).applied.isEmpty)
        }
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(core, profiles, Self.migration(3, "select 1 / 0;", head: "bundle=profiles"))
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let error = await #expect(throws: MigrationError.self) {
                try await Self.up(broken, database, bundles: ["core"])
            }
            #expect(error?.code == .refused)
            #expect(error?.message == "profiles cannot be left out, since migrations of it are applied: 2")
        }
    }

    @Test("What a later migration would stop at stops the run before it has changed anything")
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
            #expect(taken?.message.contains("public.receive_apple_notification(body jsonb) is there already") == true)
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
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

    @Test("The product's own migrations run as the limited role, and again is nothing to do")
    func embedded() async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.cluster.psql(
                database: database.name,
                files: [Repository.path("sql/platform/allow-storage-policies.sql")]
            )
            let set = try MigrationSet.embedded()
            #expect(try await Self.up(set, database).applied.count == set.migrations.count)
            #expect(try await Self.up(set, database).applied.isEmpty)
            let differences = try await database.withConnection { connection in
                try await CatalogSnapshot.differences(on: connection)
            }
            #expect(differences.isEmpty)
        }
    }

    /// As many projects have it for Realtime: nobody deletes from a published table whose rows have no identity.
    @Test("They run where every table is published, and the history lives there")
    func everythingPublished() async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.cluster.psql(
                database: database.name,
                files: [Repository.path("sql/platform/allow-storage-policies.sql")]
            )
            _ = try await database.psql("create publication everything for all tables")
            try await Self.up(try MigrationSet.embedded(), database)
            try await database.withConnection { connection in
                try connection.execute(
                    """
                    insert into accountctl.job_history
                        (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args,
                        finished_at)
                    select n, n, now(), now(), 'completed'::accountctl.job_end, 5, 1, 0, 1, 'q', 'k', '{}'::jsonb,
                        now() + n * interval '1 day'
                    from generate_series(0, 9) n
                    """
                )
                try connection.execute(
                    "select accountctl.prepare_job_history((now() at time zone 'UTC')::date, 10)"
                )
                #expect(
                    try connection.one("select count(*) from accountctl.job_history_default", as: Int.self) == 0
                )
                // As an ended job that is tried again leaves it, of a day that was made at first and of one of those
                // since.
                #expect(try connection.execute("delete from accountctl.job_history where id in (1, 8)") == 2)
            }
        }
    }
}

/// Texts that several tasks add to.
final class Collected: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ more: [String]) {
        texts.withLock { $0 += more }
    }
}
