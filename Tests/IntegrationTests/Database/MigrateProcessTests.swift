import Foundation
import Postgres
import TestSupport
import Testing

@Suite("The migrate commands as processes", .timeLimit(.minutes(5)))
struct MigrateProcessTests {
    @Test("Runs that start at the same time all succeed, and each migration is applied once")
    func manyStarters() async throws {
        try await TestDatabase.withPlatform { database in
            let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await AccountctlProcess.run("migrate", "up", environment: database.variables).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [0, 0, 0, 0])
            let expected = try Repository.sqlFiles(in: "sql/migrations").count
            #expect(try await database.psql("select count(*) from accountctl.migrations") == "\(expected)")
            #expect(try await AccountctlProcess.run("migrate", "verify", environment: database.variables).status == 0)
        }
    }

    @Test("The first run redraws one line at a terminal, and prints a line for each migration elsewhere")
    func terminal() async throws {
        try await TestDatabase.withPlatform { database in
            let first = try await TerminalSession.run(["migrate", "up"], environment: database.variables)
            let lines = first.screen.split(separator: "\n")
            #expect(first.status == 0 && lines.count < 10, "\(first.screen)")
            #expect(first.screen.contains("0001_foundation.sql"))
        }
        try await TestDatabase.withPlatform { database in
            let logged = try await AccountctlProcess.run("migrate", "up", environment: database.variables)
            #expect(logged.errors.contains("\nApplied 0002_jobs.sql in "), "\(logged)")
        }
    }

    @Test("After a run is killed in the middle of a migration, the next run succeeds")
    func killed() async throws {
        try await TestDatabase.withPlatform { database in
            // Migration 0003 locks auth.users: a lock on that table stops the run after two migrations.
            try await database.withConnection(asAdministrator: true) { connection in
                try connection.execute("begin")
                try connection.execute("lock table auth.users in access exclusive mode")
                let process = try AccountctlProcess(["migrate", "up"], environment: database.variables)
                #expect(try await process.waitForErrors(containing: "waits for a lock"))
                process.signal(SIGKILL)
                let result = try await process.result()
                #expect(result.status == -SIGKILL)
                try connection.execute("rollback")
            }
            let again = try await AccountctlProcess.run("migrate", "up", environment: database.variables)
            #expect(again.status == 0, "\(again.errors)")
            #expect(try await AccountctlProcess.run("migrate", "status", environment: database.variables).status == 0)
        }
    }

    @Test("A run whose connection breaks during a commit says to start it again, and the next run succeeds")
    func commitInDoubt() async throws {
        try await TestDatabase.withPlatform { database in
            let variables = database.variables
            let first = try await AccountctlProcess.run("migrate", "up", "--without-profiles", environment: variables)
            #expect(first.status == 0, "\(first.errors)")
            try await database.psql(
                """
                create function public.die() returns trigger language plpgsql as
                $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
                create constraint trigger die after insert on accountctl.migrations
                deferrable initially deferred for each row execute function public.die();
                """
            )
            let broken = try await AccountctlProcess.run("migrate", "up", "--with-profiles", environment: variables)
            #expect(broken.status == 75, "\(broken.errors)")
            #expect(broken.errors.contains("Start it again"), "\(broken.errors)")
            try await database.psql("drop trigger die on accountctl.migrations; drop function public.die()")
            let again = try await AccountctlProcess.run("migrate", "up", environment: variables)
            #expect(again.status == 0, "\(again.errors)")
            let verified = try await AccountctlProcess.run("migrate", "verify", environment: variables)
            #expect(verified.status == 0, "\(verified.output)")
        }
    }

    @Test("A locked table that is read before the first migration fails a plan and a run temporarily")
    func lockedBeforehand() async throws {
        try await TestDatabase.withPlatform { database in
            try await database.withConnection(asAdministrator: true) { connection in
                try connection.execute("begin")
                try connection.execute("lock table storage.buckets in access exclusive mode")
                let variables = database.variables
                let results = try await withThrowingTaskGroup(of: AccountctlProcess.Result.self) { group in
                    for act in ["plan", "up"] {
                        group.addTask { try await AccountctlProcess.run("migrate", act, environment: variables) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                for result in results {
                    #expect(result.status == 75, "\(result.errors)")
                    #expect(result.errors.contains("lock"), "\(result.errors)")
                }
                try connection.execute("rollback")
            }
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
            let again = try await AccountctlProcess.run("migrate", "up", environment: database.variables)
            #expect(again.status == 0, "\(again.errors)")
        }
    }

    @Test("A conflicting object gives plan and up the same exit code, and nothing is changed")
    func refused() async throws {
        try await TestDatabase.withPlatform { database in
            try await database.psql(
                "create function public.receive_apple_notification(body jsonb) returns void language sql as 'select'"
            )
            for act in ["plan", "up"] {
                let result = try await AccountctlProcess.run("migrate", act, environment: database.variables)
                #expect(result.status == 6, "\(act): \(result.errors)")
            }
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
        }
    }

    @Test("A plan by a role that does not own the schema has the exit code of the run")
    func anotherRole() async throws {
        try await TestDatabase.withPlatform { database in
            let first = try await AccountctlProcess.run(
                "migrate",
                "up",
                "--without-profiles",
                environment: database.variables
            )
            #expect(first.status == 0, "\(first.errors)")
            let others = database.variables.merging(["PGUSER": "supabase_admin"]) { $1 }
            for act in [["plan"], ["up", "--dry-run"], ["up"]] {
                let words = ["migrate"] + act + ["--with-profiles"]
                let result = try await AccountctlProcess(words, environment: others).result()
                #expect(result.status == 6, "\(act): \(result.output)\(result.errors)")
                #expect(result.errors.contains("belongs to the role postgres"), "\(act): \(result.errors)")
            }
            // With no migration to apply, the role does not matter.
            let plan = try await AccountctlProcess.run("migrate", "plan", environment: others)
            #expect(plan.status == 0, "\(plan.errors)")
        }
    }

    /// This is a database built from an app's own migrations, into which `supabase db pull` copied the schema.
    @Test("A schema without its migration history is refused for that reason, not for its objects")
    func withoutHistory() async throws {
        try await TestDatabase.withPlatform { database in
            let first = try await AccountctlProcess.run("migrate", "up", environment: database.variables)
            #expect(first.status == 0, "\(first.errors)")
            try await database.psql(
                "truncate accountctl.migrations, accountctl.migration_bundles, accountctl.catalog_snapshot"
            )
            for act in ["plan", "up"] {
                let result = try await AccountctlProcess.run("migrate", act, environment: database.variables)
                #expect(result.status == 6 && result.errors.contains("without its history"), "\(act): \(result)")
            }
        }
    }

    @Test("A plan changes nothing, and drift has its own exit code")
    func planAndDrift() async throws {
        try await TestDatabase.withPlatform { database in
            let plan = try await AccountctlProcess.run("migrate", "plan", "--json", environment: database.variables)
            #expect(plan.status == 0)
            #expect(plan.output.contains("SHARE ROW EXCLUSIVE on auth.users"))
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
            let without = try await AccountctlProcess.run(
                "migrate",
                "up",
                "--without-profiles",
                "--csv",
                environment: database.variables
            )
            #expect(without.status == 0)
            // A dry run has the same columns.
            #expect(without.output.hasPrefix("applied,bundles,migrations,adoption\n"), "\(without.output)")
            #expect(try await database.psql("select to_regclass('public.profiles') is null") == "t")
            #expect(
                try await AccountctlProcess.run("migrate", "up", "--with-profiles", environment: database.variables)
                    .status == 0
            )
            try await verifiesAsFarAs(database)
            try await database.psql("drop policy profiles_update_own on public.profiles")
            try await database.psql(
                """
                create or replace function public.handle_new_user() returns trigger
                    language plpgsql security definer as 'begin return new; end'
                """,
                user: "postgres"
            )
            let verify = try await AccountctlProcess.run("migrate", "verify", "--json", environment: database.variables)
            #expect(verify.status == 5)
            #expect(verify.output.contains("policy profiles_update_own on profiles"))
            #expect(verify.output.contains("function handle_new_user()"))
            // The dry run has the exit code of the real run.
            for option in ["--dry-run", "--yes"] {
                let words = ["migrate", "verify", "--accept", option]
                let accepted = try await AccountctlProcess(words, environment: database.variables).result()
                #expect(accepted.status == 0, "\(accepted)")
                #expect(accepted.errors.contains("would record") == (option == "--dry-run"), "\(accepted)")
            }
        }
    }

    @Test("A restored backup has no drift from the migrations")
    func restored() async throws {
        try await TestDatabase.withPlatform { database in
            let up = try await AccountctlProcess.run("migrate", "up", environment: database.variables)
            #expect(up.status == 0, "\(up.errors)")
            try await TestDatabase.with(.empty) { copy in
                let backup = database.cluster.folder + "/\(copy.name).backup"
                defer { try? FileManager.default.removeItem(atPath: backup) }
                _ = try await TestCluster.command(["pg_dump", "-Fc", "-f", backup, "-d", database.adminConninfo])
                _ = try await TestCluster.command(["pg_restore", "-e", "-d", copy.adminConninfo, backup])
                let verify = try await AccountctlProcess.run(
                    "migrate",
                    "verify",
                    "--json",
                    "object",
                    environment: copy.variables
                )
                #expect(verify.status == 0, "\(verify.output)\(verify.errors)")
            }
        }
    }

    /// Expects that verify also reports the migrations of a newer program and the pending ones.
    private func verifiesAsFarAs(_ database: TestDatabase) async throws {
        func verify() async throws -> (status: Int32, words: String) {
            let result = try await AccountctlProcess.run("migrate", "verify", environment: database.variables)
            return (result.status, result.output + result.errors)
        }
        let same = try await verify()
        #expect(same.status == 0 && same.words.contains("No difference."), "\(same)")
        #expect(!same.words.contains("pending"), "\(same)")
        let last = "where number = (select max(number) from accountctl.migrations)"
        try await database.psql(
            """
            create table public.last_migration as select * from accountctl.migrations \(last);
            insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
            select 9999, name, bundle, checksum, state, duration_ms, version from public.last_migration
            """
        )
        let newer = try await verify()
        #expect(newer.status == 5 && newer.words.contains("9999"), "\(newer)")
        #expect(!newer.words.contains("No difference."), "\(newer)")
        for _ in 1...2 { try await database.psql("delete from accountctl.migrations \(last)") }
        let behind = try await verify()
        #expect(behind.status == 0 && behind.words.contains("1 migration is pending"), "\(behind)")
        try await database.psql("insert into accountctl.migrations select * from public.last_migration")
    }

    @Test("The plan lists the tables that the platform locks for each statement on policies")
    func locksOfThePlatform() async throws {
        try await TestDatabase.withPlatform { database in
            try await database.psql(
                """
                alter role postgres in database \(database.name)
                set supautils.policy_grants = '{"postgres": ["auth.users", "auth.sessions", "realtime.absent"]}'
                """
            )
            let plan = try await AccountctlProcess.run("migrate", "plan", "--json", environment: database.variables)
            #expect(plan.status == 0, "\(plan.errors)")
            let read = try JSONSerialization.jsonObject(with: Data(plan.output.utf8)) as? [String: Any]
            let migrations = try #require(read?["migrations"] as? [[String: Any]])
            for table in ["auth.users", "auth.sessions"] {
                let locking = migrations.filter {
                    ($0["locks"] as? [String])?.contains("ACCESS EXCLUSIVE on \(table)") == true
                }
                // The statements of both are put together by procedural code.
                #expect(locking.compactMap { $0["name"] as? String } == ["profiles", "avatars"])
            }
            #expect(!plan.output.contains("realtime.absent"))
        }
    }
}
