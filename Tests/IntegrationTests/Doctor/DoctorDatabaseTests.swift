import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue
@testable import accountctl

/// The role, the pooler, the tables with their keys and triggers, and the state of the schema.
@Suite("The doctor reports on the database:", .timeLimit(.minutes(5)))
struct DoctorDatabaseTests {
    /// Creates a role that may only read what deletions look at.
    private func reader(_ name: String, in database: TestDatabase) async throws -> String {
        let role = "\(name)_\(UUID().uuidString.prefix(8).lowercased())"
        try await database.psql(
            """
            create role \(role) login;
            grant usage on schema auth, storage, accountctl to \(role);
            grant select on all tables in schema auth, storage, accountctl to \(role);
            """
        )
        return role
    }

    @Test("a role under row-level security, which would see no rows and report no residue")
    func blindRole() async throws {
        try await DoctorStage.with { deployment in
            let role = try await reader("blind", in: deployment.database)
            let what = try await deployment.find("database.role", "error", ["PGUSER": role])
            #expect(what.contains(role))
            try await deployment.database.psql("drop owned by \(role); create role \(role)_2 login")
            let none = try await deployment.find("database.rights", "error", ["PGUSER": "\(role)_2"])
            #expect(none.contains("auth.users"))
            try await deployment.database.psql("drop role \(role), \(role)_2")
        }
    }

    @Test("rights that a deletion lacks, each with the statement that grants it")
    func rights() async throws {
        try await DoctorStage.with { deployment in
            let role = try await reader("clerk", in: deployment.database)
            try await deployment.database.psql(
                """
                create schema "Shop.EU";
                create table "Shop.EU"."Orders" (buyer uuid references auth.users on delete cascade);
                """
            )
            func lacking() async throws -> [DoctorFinding] {
                try await deployment.examine(["PGUSER": role]).findings.filter { $0.code == "deletion.rights" }
            }
            let found = try await lacking()
            let codes = Set(found.compactMap { $0.what.split(separator: ": ").last.map(String.init) })
            #expect(codes.isSuperset(of: ["missing_right (SELECT)", "missing_right (DELETE)"]), "\(found)")
            let statements = Set(
                found.compactMap { $0.todo?.replacing("; or connect as a role that has the right", with: "") }
            )
            let orders = #"grant usage on schema "Shop.EU" to \#(role); grant select on "Shop.EU"."Orders" to \#(role)"#
            #expect(statements.isSuperset(of: [orders, "alter role \(role) bypassrls"]), "\(statements)")
            try await deployment.database.psql(statements.sorted().joined(separator: ";"))
            #expect(try await lacking().isEmpty)
            try await deployment.database.psql("drop owned by \(role); drop role \(role)")
        }
    }

    @Test("roles that may create objects where names are looked up, except members of ours, unused and the platform's")
    func creators() async throws {
        try await DoctorStage.with { deployment in
            func found() async throws -> [DoctorFinding] {
                try await deployment.examine().findings.filter { $0.code == "database.creators" }
            }
            #expect(try await found().isEmpty)
            let suffix = UUID().uuidString.prefix(8).lowercased()
            let (mailer, kim, idle) = ("mailer_\(suffix)", "kim_\(suffix)", "idle_\(suffix)")
            try await deployment.database.psql(
                """
                create role \(mailer) login in role accountctl_operator;
                create role \(kim) login in role postgres;
                create role \(idle);
                grant create on schema public to \(mailer), \(kim), \(idle), supabase_storage_admin;
                """
            )
            let what = try await deployment.find("database.creators", "error")
            #expect(what.contains("public") && what.hasSuffix(": \(mailer)"), "\(what)")
            let todo = try #require(try await found().first?.todo)
            #expect(todo == "revoke create on schema public from \(mailer)")
            try await deployment.database.psql(todo, user: "postgres")
            #expect(try await found().isEmpty)
            // Rights through a membership in another role count, and so do rights of public.
            try await deployment.database.psql("grant create on schema extensions to accountctl_operator, public")
            let all = try #require(try await found().first?.todo)
            #expect(all == "revoke create on schema extensions from accountctl_operator, public")
            try await deployment.database.psql(
                """
                \(all);
                drop owned by \(mailer), \(kim), \(idle);
                drop role \(mailer), \(kim), \(idle)
                """
            )
        }
    }

    @Test("a role that may not vacuum the job table, unless it is a member of the owner")
    func foreignJobTable() async throws {
        try await DoctorStage.with { deployment in
            let role = "guest_\(UUID().uuidString.prefix(8).lowercased())"
            try await deployment.database.psql(
                """
                create role \(role) login;
                grant usage on schema auth, storage, accountctl to \(role);
                grant select, insert, update, delete on all tables in schema auth, storage, accountctl to \(role);
                """
            )
            let what = try await deployment.find("jobs.owner", "warning", ["PGUSER": role])
            #expect(what.contains("belongs to postgres"))
            try await deployment.database.psql("grant postgres to \(role)")
            let (_, findings) = try await deployment.examine(["PGUSER": role])
            #expect(!findings.contains { $0.code == "jobs.owner" }, "\(findings)")
            try await deployment.database.psql("drop owned by \(role); drop role \(role)")
        }
    }

    @Test("dead rows that something keeps, and dead rows that nothing removes")
    func deadRows() {
        let keeper = DeadRowKeeper(name: "server process 7", ending: "select pg_terminate_backend(7)")
        func found(snapshot: Double = 0, xmin: Int = 0, dead: Int = 0) -> accountctl.DoctorFinding? {
            let figures = JobFigures(
                depths: [],
                oldestReady: [:],
                exhausted: 0,
                lastMinute: [:],
                oldestSnapshot: snapshot,
                oldestXminAge: xmin,
                deadRows: dead,
                defaultRows: 0
            )
            return DatabaseDoctor.deadRows(figures, keptBy: keeper)
        }
        #expect(found(snapshot: 3600, xmin: 1_000_000, dead: 1_000_000) == nil)
        #expect(found(snapshot: 3601)?.code == "jobs.dead_rows" && found(xmin: 1_000_001)?.code == "jobs.dead_rows")
        let kept = found(snapshot: 3601, xmin: 20)
        #expect(kept?.what == "server process 7 keeps the dead rows of the last 20 transactions")
        #expect(kept?.todo?.contains("select pg_terminate_backend(7)") == true)
        #expect(found(dead: 1_000_001)?.what.contains("dead rows") == true)
    }

    @Test("foreign keys without a rule or an index, and triggers, that block or slow a deletion")
    func catalog() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create table public.posts (id int primary key, author uuid references auth.users);
                create table public.likes (author uuid references auth.users on delete cascade);
                create table public.scans (file uuid references storage.objects);
                create table public.devices (session uuid references auth.sessions);
                create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
                create trigger keep before delete on public.likes for each row execute function public.refuse();
                create table public.pictures (file uuid references storage.objects on delete cascade);
                create trigger frame after delete on public.pictures for each row execute function public.refuse();
                create trigger unlink after delete on storage.objects for each row execute function public.refuse();
                """
            )
            _ = try await deployment.find("deletion.blocking_key", "warning")
            let (_, findings) = try await deployment.examine()
            #expect(findings.contains { $0.code == "deletion.blocking_key" && $0.what.contains("public.posts") })
            // Only the app's triggers are findings: Storage's own triggers on the same table let Storage delete.
            let withFiles = findings.filter { $0.code == "deletion.trigger_files" }.sorted { $0.what < $1.what }
            #expect(withFiles.map(\.severity) == ["notice", "notice"], "\(withFiles)")
            #expect(zip(withFiles, ["frame", "unlink"]).allSatisfy { $0.what.contains($1) }, "\(withFiles)")
            // Files are deleted before rows.
            #expect(findings.contains { $0.code == "deletion.blocking_key" && $0.what.contains("public.scans") })
            // Sessions are deleted before rows as well, even before rows that a cascade would delete.
            let devices = findings.first { $0.code == "deletion.blocking_key" && $0.what.contains("public.devices") }
            #expect(devices?.why?.contains("sessions are ended before any row is deleted") == true, "\(findings)")
            let unindexed = findings.filter { $0.code == "deletion.missing_index" }.map(\.what).joined()
            #expect(unindexed.contains("public.posts") && unindexed.contains("public.likes"))
            #expect(findings.contains { $0.code == "deletion.trigger" && $0.what.contains("keep") }, "\(findings)")
            #expect(!findings.contains { $0.code == "deletion.trigger_outside" }, "\(findings)")
            // What a trigger does by calling another function counts as its own action.
            try await deployment.database.psql(
                """
                create extension dblink schema extensions;
                create function public.tell() returns void language sql as $$ select extensions.dblink_exec('', '') $$;
                create or replace function public.refuse() returns trigger language plpgsql as
                $$ begin perform public.tell(); return old; end $$;
                """
            )
            #expect(try await deployment.find("deletion.trigger_outside", "notice").contains("keep"))
            let strict = try await AccountctlProcess.run(
                "doctor",
                "--database-only",
                "--strict",
                environment: deployment.variables
            )
            #expect(strict.status == 1)
        }
    }

    @Test("published tables without a replica identity, and the statement that adds one")
    func unpublishable() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create table public.posts (author uuid references auth.users on delete cascade);
                create table public.scans (file uuid references storage.objects on delete set null);
                create table public.likes (id int primary key, author uuid references auth.users on delete cascade);
                create publication changes for table public.posts, public.scans, public.likes;
                """
            )
            func found() async throws -> [DoctorFinding] {
                try await deployment.examine().findings.filter { $0.code == "deletion.unpublishable" }
            }
            let statements = try await found().compactMap { $0.todo?.components(separatedBy: "or: ").last }
            let all = ["posts", "scans"].map { #"alter table "public"."\#($0)" replica identity full"# }
            #expect(statements.sorted() == all)
            try await deployment.database.psql(statements.joined(separator: ";"))
            #expect(try await found().isEmpty)
        }
    }

    @Test("foreign keys that do not act, and the statement that enables them")
    func idleKeys() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create table public."Posts" (id int primary key, author uuid references auth.users on delete cascade);
                create table public.likes (post int constraint likes_post references public."Posts" on delete cascade);
                create table public.notes (author uuid constraint "By" references auth.users on delete cascade);
                alter table public."Posts" disable trigger all;
                -- This simulates a foreign key of newer servers that is not enforced.
                delete from pg_trigger as g
                using pg_constraint as k
                where k.oid = g.tgconstraint and k.conrelid = 'public.notes'::regclass;
                """
            )
            _ = try await deployment.find("deletion.idle_key", "error")
            func statements() async throws -> [String] {
                try await deployment.examine().findings.filter { $0.code == "deletion.idle_key" }
                    .compactMap { $0.todo?.components(separatedBy: ": ").last }.sorted()
            }
            let enforcing = #"alter table "public"."notes" alter constraint "By" enforced"#
            let all = try await statements()
            #expect(all == [#"alter table "public"."Posts" enable trigger all"#, enforcing])
            try await deployment.database.psql(try #require(all.first))
            #expect(try await statements() == [enforcing])
        }
    }

    @Test("a big table without an index, unless it is one of Supabase's own; rows of partitions count once")
    func bigTables() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create table public."Likes" ("byWhom" uuid references auth.users on delete cascade);
                create table auth.notes (author uuid references auth.users on delete cascade);
                create table public.marks (author uuid references auth.users on delete cascade);
                create table public.votes (author uuid references auth.users on delete cascade)
                partition by list (author);
                create table public.all_votes partition of public.votes default;
                insert into public.votes select null from generate_series(1, 6000);
                analyze public.votes;
                update pg_class set reltuples = 20000 where relname in ('Likes', 'notes');
                """
            )
            let (_, findings) = try await deployment.examine()
            func finding(_ table: String) -> DoctorFinding? {
                findings.first { $0.code == "deletion.missing_index" && $0.what.contains(table) }
            }
            #expect(finding("public.Likes")?.severity == "warning")
            #expect(finding("public.Likes")?.todo == #"create index concurrently on "public"."Likes" ("byWhom")"#)
            #expect(finding("auth.") == nil)
            // The server does not count a table with a few rows by itself.
            let marks = finding("public.marks")
            #expect(marks?.severity == "notice", "\(findings)")
            #expect(marks?.why?.contains("(the server has not counted its rows yet)") == true, "\(findings)")
            let votes = finding("public.votes")
            #expect(votes?.severity == "notice" && votes?.why?.contains("(about 6000 rows)") == true, "\(findings)")
        }
    }

    @Test("a pooler in transaction mode, but none in session mode")
    func pooler() async throws {
        try await DoctorStage.with { deployment in
            for mode in [PgBouncer.PoolMode.transaction, .session] {
                try await PgBouncer.with(mode, to: deployment.database.cluster) { pooler in
                    let through = ["PGHOST": "127.0.0.1", "PGPORT": "\(pooler.port)"]
                    let (_, findings) = try await deployment.examine(through)
                    let isFound = findings.contains { $0.code == "database.pooler" && $0.severity == "warning" }
                    #expect(isFound == (mode == .transaction), "\(findings)")
                }
            }
        }
    }

    @Test(
        "server versions with which the program was not tested",
        arguments: [(149_999, "warning"), (150_000, "ok"), (160_000, "notice"), (170_000, "ok"), (180_000, "warning")]
    )
    func versions(_ number: Int, _ severity: String) {
        #expect(DatabaseDoctor.version(number, "1").severity.rawValue == severity)
    }

    @Test("a read-only database, as with a full disk, which every act reports as well")
    func readOnly() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.cluster.psql(
                database: "postgres",
                "alter database \(deployment.database.name) set default_transaction_read_only = on"
            )
            #expect(try await deployment.find("database.read_only", "error").contains("read-only"))
            let pause = ["jobs", "pause", "mail", "--yes"]
            let act = try await AccountctlProcess(pause, environment: deployment.variables).result()
            #expect(act.status == 75 && act.errors.contains("see default_transaction_read_only"), "\(act)")
        }
    }

    @Test("clocks that differ")
    func clock() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                create schema skewed;
                create function skewed.clock_timestamp() returns timestamptz language sql volatile
                as $$ select pg_catalog.clock_timestamp() + interval '90 seconds' $$;
                grant usage on schema skewed to public;
                alter role postgres in database \(deployment.database.name) set search_path = skewed, pg_catalog, public;
                """
            )
            let what = try await deployment.find("database.clock", "warning")
            // The local clock is read after the server's answer, which makes the difference smaller.
            let seconds = try #require(what.firstMatch(of: /(\d+) s/).flatMap { Int($0.1) })
            #expect((70...90).contains(seconds), "\(what)")
        }
    }

    @Test("a schema that is missing, behind, ahead or changed")
    func schema() async throws {
        try await TestDatabase.with(.platform) { database in
            let missing = try await AccountctlProcess.run(
                "doctor",
                "--database-only",
                "--json",
                "code",
                environment: database.variables
            )
            #expect(missing.status == 1 && missing.output.contains("schema.installed"), "\(missing.output)")
        }
        try await DoctorStage.with { deployment in
            try await deployment.database.psql("alter table public.profiles disable row level security")
            #expect(try await deployment.find("schema.drift", "error").contains("profiles"))
            try await deployment.database.psql(
                """
                alter table public.profiles enable row level security;
                alter function public.cancel_account_deletion() set search_path = pg_temp;
                alter policy profiles_insert_open on public.profiles with check (true);
                """
            )
            #expect(try await deployment.find("schema.drift", "warning").contains("cancel_account_deletion"))
            // This is what an earlier version left behind if the app signs up with a function of its own.
            try await deployment.database.psql(
                """
                update accountctl.settings set value = '"starter"' where name = 'profiles.origin';
                update accountctl.adoption_notes set decision = 'kept', reason = 'the app''s'
                where item = 'profiles.sign_up';
                alter table public.profiles drop constraint profiles_username_key;
                """
            )
            #expect(try await deployment.find("schema.username_rule", "warning").contains("username_length"))
            try await deployment.database.psql("grant usage on schema accountctl to anon, authenticated")
            #expect(try await deployment.find("schema.open", "error").hasSuffix("by anon, authenticated"))
            try await deployment.database.psql("revoke usage on schema accountctl from anon, authenticated")
            try await deployment.database.psql(
                """
                drop policy profiles_update_open on public.profiles;
                drop trigger on_auth_user_created on auth.users;
                grant truncate on public.profiles to anon;
                grant execute on function public.cancel_account_deletion() to public;
                """
            )
            let grave = try await deployment.examine().findings.filter {
                $0.code == "schema.drift" && $0.severity == "error"
            }
            #expect(
                grave.map(\.what) == [
                    "changed: function cancel_account_deletion()", "changed: policy profiles_insert_open on profiles",
                    "removed: policy profiles_update_open on profiles",
                    "changed: relation public.profiles", "removed: trigger on_auth_user_created on auth.users",
                ]
            )
            try await deployment.database.psql(
                """
                delete from accountctl.migrations
                where number = (select max(number) from accountctl.migrations where bundle = 'core')
                """
            )
            #expect(try await deployment.find("schema.pending", "error").contains("1 migration"))
            try await deployment.database.psql(
                """
                insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
                values (9001, 'tomorrow', 'core', repeat('0', 64), 'done', 1, '99.1.0')
                """
            )
            #expect(try await deployment.find("schema.ahead", "warning").contains("99.1.0"))
            #expect(try await deployment.find("schema.history", "error").contains("lower number"))
        }
    }

    @Test("an unfinished run of migrate up, but no drift of the objects that it created")
    func unfinishedRun() async throws {
        try await DoctorStage.with(migrating: ["--without-profiles"]) { deployment in
            try await deployment.database.psql(
                """
                create function public.die() returns trigger language plpgsql as
                $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
                create constraint trigger die after insert on accountctl.migrations
                deferrable initially deferred for each row when (new.number > 12) execute function public.die();
                """
            )
            let died = try await AccountctlProcess.run(
                "migrate",
                "up",
                "--with-profiles",
                environment: deployment.variables
            )
            #expect(died.status == 75, "\(died.errors)")
            let what = try await deployment.find("schema.unfinished", "error")
            #expect(what.contains("migrate up"), "\(what)")
            let (_, findings) = try await deployment.examine()
            #expect(!findings.contains { $0.code == "schema.drift" }, "\(findings)")
            // This simulates another run in progress, which holds the advisory lock.
            try await deployment.database.withConnection { connection in
                try connection.execute("select pg_advisory_lock(\(Int64(0x6163_636F_756E_7463)))")
                let holder = "server process \(connection.backendPID) "
                let running = try await deployment.find("schema.unfinished", "notice")
                #expect(running.contains(holder), "\(running)")
                let verified = try await AccountctlProcess.run("migrate", "verify", environment: deployment.variables)
                #expect(verified.errors.contains("migrate up is still running (\(holder)"), "\(verified.errors)")
                let ending = "select pg_terminate_backend(\(connection.backendPID))"
                #expect(verified.errors.contains(ending), "\(verified.errors)")
            }
        }
    }
}
