import Crypto
import Foundation
import Logging
import Sandbox
import TestSupport
import Testing

@testable import accountctl

/// Every fault is made in a database of its own; the doctor is asked as a monitor would ask it.
@Suite("The doctor finds", .timeLimit(.minutes(3)))
struct DoctorTests {
    private struct Finding: Decodable {
        let severity: String
        let code: String
        let what: String
        let why: String?
        let todo: String?
    }

    /// A deployment: a database that the program migrated, keys, and whatever else a test sets.
    private struct Deployment: Sendable {
        let database: TestDatabase
        let variables: [String: String]
        let folder: URL

        func file(_ name: String, _ text: String) throws -> String {
            let path = folder.appendingPathComponent(name).path
            _ = FileManager.default.createFile(
                atPath: path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
            return path
        }

        /// What it finds, and its exit code; everything but what is sound.
        func examine(
            _ more: [String: String] = [:],
            everything: Bool = false
        ) async throws -> (status: Int32, findings: [Finding]) {
            let result = try await AccountctlProcess(
                ["doctor", "--json"] + (everything ? [] : ["--database-only"]),
                environment: variables.merging(more) { $1 }
            ).result()
            let findings = try? JSONDecoder().decode([Finding].self, from: Data(result.output.utf8))
            return (result.status, try #require(findings, "\(result.errors)").filter { $0.severity != "ok" })
        }

        /// The finding of a code, which has to be there and to say what it means and what to do.
        func find(
            _ code: String,
            _ severity: String,
            _ more: [String: String] = [:],
            everything: Bool = false,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> String {
            let (status, findings) = try await examine(more, everything: everything)
            let found = findings.first { $0.code == code && $0.severity == severity }
            let finding = try #require(found, "\(findings)", sourceLocation: sourceLocation)
            #expect(finding.why != nil && finding.todo != nil, sourceLocation: sourceLocation)
            let hasError = findings.contains { $0.severity == "error" }
            #expect(status == (hasError ? 1 : 0), sourceLocation: sourceLocation)
            return finding.what
        }
    }

    private func deploy(
        working: Bool = true,
        _ body: @Sendable (Deployment) async throws -> Void
    ) async throws {
        let keys = try await TestKeys.make()
        defer { keys.remove() }
        try await TestDatabase.withPlatform { database in
            let variables = database.variables.merging(keys.variables) { $1 }
            let migrated = try await AccountctlProcess.run("migrate", "up", environment: variables)
            #expect(migrated.status == 0, "\(migrated.errors)")
            if working {
                let worked = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                #expect(worked.status == 0, "\(worked.errors)")
                // As if it were still there: the test is about other things.
                try await database.psql(
                    "update accountctl.workers set stopped_at = null, stop_reason = null, expires_at = now() + interval '1 hour'"
                )
            }
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("doctor-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try await body(Deployment(database: database, variables: variables, folder: folder))
        }
    }

    @Test("nothing wrong with a sound database, and says so with exit code 0")
    func sound() async throws {
        try await deploy { deployment in
            let (status, findings) = try await deployment.examine()
            #expect(status == 0)
            #expect(findings.filter { $0.severity != "notice" }.isEmpty, "\(findings)")
            let people = try await AccountctlProcess.run(
                "doctor",
                "--database-only",
                environment: deployment.variables
            )
            #expect(people.status == 0 && people.errors.contains("0 errors, 0 warnings"), "\(people.errors)")
            let away = deployment.variables.merging(["PGPORT": "1"]) { $1 }
            #expect(try await AccountctlProcess.run("doctor", "--database-only", environment: away).status == 75)
        }
    }

    @Test("a role that row-level security binds, which would see nothing and call it clean")
    func blindRole() async throws {
        try await deploy { deployment in
            let role = "blind_\(UUID().uuidString.prefix(8).lowercased())"
            try await deployment.database.psql(
                """
                create role \(role) login;
                grant usage on schema auth, storage, accountctl to \(role);
                grant select on all tables in schema auth, storage, accountctl to \(role);
                """
            )
            let what = try await deployment.find("database.role", "error", ["PGUSER": role])
            #expect(what.contains(role))
            try await deployment.database.psql("drop owned by \(role); create role \(role)_2 login")
            let none = try await deployment.find("database.rights", "error", ["PGUSER": "\(role)_2"])
            #expect(none.contains("auth.users"))
            try await deployment.database.psql("drop role \(role), \(role)_2")
        }
    }

    @Test("keys without a rule or an index, and triggers, that block or slow a deletion")
    func catalog() async throws {
        try await deploy { deployment in
            try await deployment.database.psql(
                """
                create table public.posts (id int primary key, author uuid references auth.users);
                create table public.likes (author uuid references auth.users on delete cascade);
                create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
                create trigger keep before delete on public.likes for each row execute function public.refuse();
                """
            )
            #expect(try await deployment.find("deletion.blocking_key", "warning").contains("public.posts"))
            let (_, findings) = try await deployment.examine()
            let unindexed = findings.filter { $0.code == "deletion.missing_index" }.map(\.what).joined()
            #expect(unindexed.contains("public.posts") && unindexed.contains("public.likes"))
            #expect(findings.contains { $0.code == "deletion.trigger" && $0.what.contains("keep") }, "\(findings)")
            #expect(!findings.contains { $0.code == "deletion.trigger_outside" }, "\(findings)")
            // What a trigger does through another function counts as its own.
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

    @Test("a big table without an index: a warning where it can be heeded, a notice where it is Supabase's own")
    func bigTables() async throws {
        try await deploy { deployment in
            try await deployment.database.psql(
                """
                create table public."Likes" ("byWhom" uuid references auth.users on delete cascade);
                create table auth.notes (author uuid references auth.users on delete cascade);
                update pg_class set reltuples = 20000 where relname in ('Likes', 'notes');
                """
            )
            let (_, findings) = try await deployment.examine()
            func finding(_ table: String) -> Finding? {
                findings.first { $0.code == "deletion.missing_index" && $0.what.contains(table) }
            }
            #expect(finding("public.Likes")?.severity == "warning")
            #expect(finding("public.Likes")?.todo == #"create index concurrently on "public"."Likes" ("byWhom")"#)
            #expect(finding("auth.notes")?.severity == "notice")
        }
    }

    @Test("what its operators live with does not count, and is shown all the same")
    func exceptions() async throws {
        try await deploy { deployment in
            try await deployment.database.psql(
                "create table public.posts (id int primary key, author uuid references auth.users)"
            )
            let (_, findings) = try await deployment.examine()
            let known = Set(findings.filter { $0.severity == "warning" }.map(\.code))
            #expect(known.contains("deletion.blocking_key"))
            func strict(except codes: Set<String>) async throws -> (status: Int32, output: String, errors: String) {
                let options = codes.sorted().flatMap { ["--except", $0] }
                let result = try await AccountctlProcess(
                    ["doctor", "--database-only", "--strict"] + options,
                    environment: deployment.variables
                ).result()
                return (result.status, result.output, result.errors)
            }
            let all = try await strict(except: known)
            #expect(all.status == 0, "\(all)")
            #expect(all.output.contains("deletion.blocking_key") && !all.errors.contains("--except"), "\(all)")
            let others = known.subtracting(["deletion.blocking_key"])
            let mistyped = try await strict(except: others.union(["deletion.blocking"]))
            #expect(mistyped.status == 1)
            #expect(mistyped.errors.contains("--except deletion.blocking: nothing under this code"), "\(mistyped)")
        }
    }

    @Test("a pooler in transaction mode; one in session mode is as good as none")
    func pooler() async throws {
        try await deploy { deployment in
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
        "which server it was not tested with",
        arguments: [(149_999, "warning"), (150_000, "ok"), (160_000, "notice"), (180_000, "warning")]
    )
    func versions(_ number: Int, _ severity: String) {
        #expect(DatabaseDoctor.version(number, "1").severity.rawValue == severity)
    }

    @Test("clocks that differ")
    func clock() async throws {
        try await deploy { deployment in
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
            // The clock is read after the server's answer.
            let seconds = try #require(what.firstMatch(of: /(\d+) s/).flatMap { Int($0.1) })
            #expect((70...90).contains(seconds), "\(what)")
        }
    }

    @Test("client ids that Apple rejects, and such whose codes it refuses one and all")
    func refusals() async throws {
        try await deploy { deployment in
            try await deployment.database.psql(
                """
                insert into accountctl.apple_rejections (client_id, team_id, key_id, refusal, since, retry_after)
                values ('com.example.app', 'TEAM', 'KEY', 'invalid_client', '2026-01-02 03:04:05Z', now());
                insert into auth.users (id) select md5('person ' || n)::uuid from generate_series(1, 3) as n;
                insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                select id, client, 'refused', now()
                from auth.users, unnest(array['com.example.app', 'com.example.web']) as client;
                insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                select md5('person 1')::uuid, 'com.example.app', 'exchanged', now()
                """
            )
            // A key that was put right is no error, whatever the books say of the one before it.
            let other = try await deployment.find("apple.rejected", "notice")
            #expect(
                other.hasPrefix("Apple rejected com.example.app with team TEAM and key KEY, which are not"),
                "\(other)"
            )
            let ours = [
                "ACCOUNTCTL_APPLE_TEAM_ID": "ABCDE12345", "ACCOUNTCTL_APPLE_KEY_ID": "FGHIJ67890",
                "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try deployment.file(
                    "a.p8",
                    P256.Signing.PrivateKey().pemRepresentation
                ),
                "ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app, com.example.web",
            ]
            #expect(try await deployment.find("apple.rejected", "notice", ours) == other)
            try await deployment.database.psql(
                "update accountctl.apple_rejections set team_id = 'ABCDE12345', key_id = 'FGHIJ67890'"
            )
            #expect(
                try await deployment.find("apple.rejected", "error", ours)
                    == "Apple rejects com.example.app with team ABCDE12345 and key FGHIJ67890 since 2026-01-02 03:04:05Z: "
                    + "invalid_client"
            )
            #expect(
                try await deployment.find("apple.codes", "error")
                    == "Apple refused all 3 codes that 3 accounts submitted for com.example.web"
            )
        }
    }

    @Test("that single accounts submit what they like is a notice at most, that many submit the same is an error")
    func anybodysCodes() async throws {
        try await deploy { deployment in
            let key = P256.Signing.PrivateKey().pemRepresentation
            let apple = [
                "ACCOUNTCTL_APPLE_TEAM_ID": "A1B2C3D4E5", "ACCOUNTCTL_APPLE_KEY_ID": "F6G7H8I9J0",
                "ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app",
                "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try deployment.file("key.p8", key),
            ]
            func codes() async throws -> [Finding] {
                try await deployment.examine(apple).findings.filter { $0.code == "apple.codes" }
            }
            try await deployment.database.psql(
                """
                insert into auth.users (id) select md5('person ' || n)::uuid from generate_series(1, 3) as n;
                insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                select md5('person 1')::uuid, 'urgent.' || n, 'refused', now() from generate_series(1, 7) as n
                union all
                select md5('person 1')::uuid, 'com.example.app', 'refused', now() from generate_series(1, 3);
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (md5('person 2')::uuid, 'com.example.app', '001234.5678.0123', 'sealed', 'key')
                """
            )
            let single = try await codes()
            #expect(single.map(\.severity) == ["notice", "notice"])
            #expect(
                single.first?.what == "single accounts submitted codes for 7 client ids that are not configured here: "
                    + "urgent.1, urgent.2, urgent.3, urgent.4, urgent.5 and 2 more"
            )
            #expect(single.last?.why?.contains("Nothing is held") == false, "\(single)")
            try await deployment.database.psql(
                """
                insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                select id, 'com.example.old', 'refused', now() from auth.users
                """
            )
            #expect(
                try await codes().filter { $0.severity == "error" }.map(\.what)
                    == ["the app submits codes for com.example.old, which is not configured here"]
            )
        }
    }

    @Test("that no worker is there, and jobs that wait too long for one")
    func workers() async throws {
        try await deploy(working: false) { deployment in
            #expect(try await deployment.find("workers.alive", "error").contains("none was ever seen"))
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job(kind => 'mail.check', args => '{"stream": 1}', queue => 'mail');
                update accountctl.jobs set run_at = now() - interval '1 hour';
                """
            )
            #expect(
                try await deployment.find("jobs.age", "warning")
                    == "a job in the queue mail has been waiting to run for 1 h"
            )
            // A worker that was there an hour ago is another matter than none at all.
            let worker = try AccountctlProcess(["worker"], environment: deployment.variables)
            #expect(try await worker.waitForErrors(containing: "worker registered"))
            worker.signal(SIGKILL)
            _ = try await worker.result()
            func silent(for time: String) async throws {
                try await deployment.database.psql(
                    """
                    update accountctl.workers
                    set beat_at = now() - interval '\(time)', expires_at = now() - interval '\(time)' + interval '1 second'
                    """
                )
            }
            try await silent(for: "1 minute")
            #expect(try await deployment.find("workers.alive", "warning").contains("the last one was seen"))
            // Minutes are too long: a code is dead by then. The command line is that of the manifest, to the letter.
            try await silent(for: "4 minutes")
            #expect(try await deployment.find("workers.alive", "error").contains("the last one was seen"))
            let manifest = try String(
                contentsOfFile: Repository.path("deploy/kubernetes/accountctl.yaml"),
                encoding: .utf8
            )
            let line = try #require(manifest.firstMatch(of: /args: \[(doctor.*)\]/))
            let readme = try String(contentsOfFile: Repository.path("README.md"), encoding: .utf8)
            #expect(
                readme.contains("by `accountctl \(line.1.replacing(",", with: ""))` from cron: its exit code tells")
            )
            let words = line.1.replacing(",", with: "").split(separator: " ").map(String.init)
            func exit(_ more: [String]) async throws -> Int32 {
                try await AccountctlProcess(words + more, environment: deployment.variables).result().status
            }
            #expect(try await exit([]) == 1)
            #expect(try await exit(["--expect-worker-within", "6h"]) == 0)
            #expect(try await exit(["--expect-worker-within", "soon"]) == 2)
            // Somebody who holds one job by hand does the work of no worker.
            try await deployment.database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('rehearsal', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            #expect(try await exit([]) == 1)
        }
    }

    @Test("A database that is away or behind, and says what else there is to say")
    func databaseAway() async throws {
        try await deploy { deployment in
            let away = deployment.variables.merging(["PGHOST": "/nowhere", "ACCOUNTCTL_DELETION_GRACE": "soon"]) { $1 }
            let result = try await AccountctlProcess(["doctor", "--json"], environment: away).result()
            #expect(result.status == 75, "\(result.errors)")
            let findings = try JSONDecoder().decode([Finding].self, from: Data(result.output.utf8))
            #expect(findings.contains { $0.code == "database.reachable" && $0.severity == "error" }, "\(findings)")
            #expect(findings.contains { $0.code == "settings" && $0.what.contains("deletion.grace") })
            #expect(findings.contains { $0.code == "storage.settings" })

            try await deployment.database.psql("alter table accountctl.apple_rejections rename to rejections")
            let behind = try await deployment.find("schema.behind", "error")
            #expect(behind.contains("the rejections by Apple"))
            let (status, others) = try await deployment.examine()
            #expect(
                status == 1 && others.contains { $0.code == "mail.no_stream" || $0.code == "schema.drift" },
                "\(others)"
            )
        }
    }

    @Test("Keys that a worker would refuse to start with")
    func otherKeys() async throws {
        try await deploy { deployment in
            let sealing = try String(
                contentsOfFile: deployment.variables["ACCOUNTCTL_KEYS_SEALING_FILE"] ?? "",
                encoding: .utf8
            )
            let same = try deployment.file("same", sealing)
            let shared = try await deployment.find("keys.hash", "error", ["ACCOUNTCTL_KEYS_HASH_FILE": same])
            #expect(shared.contains("hold the same key"))
            let garbage = try deployment.file("garbage", "not a key")
            let unreadable = try await deployment.find("keys.hash", "error", ["ACCOUNTCTL_KEYS_HASH_FILE": garbage])
            #expect(unreadable.contains("keys.hash_file"))
            for (setting, code, name) in [
                ("ACCOUNTCTL_KEYS_SEALING_FILE", "keys.sealing", "sealing"),
                ("ACCOUNTCTL_KEYS_HASH_FILE", "keys.hash", "hash"),
            ] {
                let other = try deployment.file(
                    "other.\(name)",
                    try await AccountctlProcess.run("keys", "new", name).output
                )
                let said = try await deployment.find(code, "error", [setting: other])
                #expect(said.contains("under that name"), "\(said)")
                let worker = try await AccountctlProcess(
                    ["worker", "--until-idle"],
                    environment: deployment.variables.merging([setting: other]) { $1 }
                ).result()
                #expect(worker.status == 5, "\(worker.errors)")
            }
        }
    }

    @Test("a hash key of another name than the one that was used, before it is used and after")
    func otherHashKey() async throws {
        try await deploy { deployment in
            let newer = try deployment.file(
                "newer.hash",
                try await AccountctlProcess.run("keys", "new", "hash-2").output
            )
            let other = ["ACCOUNTCTL_KEYS_HASH_FILE": newer]
            let unknown = try await deployment.find("keys.hash", "error", other)
            #expect(unknown == #"the hash key "hash-2" was never used here, and "hash" was"#)
            // What hashes makes it known, as in a rotation.
            let paused = try await AccountctlProcess(
                ["deletion", "pause", "--all"],
                environment: deployment.variables.merging(other) { $1 }
            ).result()
            #expect(paused.status == 0, "\(paused.errors)")
            #expect(try await deployment.find("keys.hash", "notice", other).contains(#"is newer than "hash""#))
            #expect(try await deployment.find("keys.hash", "warning").contains(#"is older than "hash-2""#))
        }
    }

    @Test("deletions that somebody paused or that wait for the ceiling, and queues that are paused")
    func brakes() async throws {
        try await deploy { deployment in
            func run(_ words: String...) async throws {
                let result = try await AccountctlProcess(words, environment: deployment.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            try await run("deletion", "pause", "--all", "--reason", "a complaint", "--as", "olga")
            let all = try await deployment.find("deletion.paused", "warning")
            #expect(all.contains("every deletion is paused") && all.contains("by olga"), "\(all)")
            try await deployment.database.psql(
                "update accountctl.deletion_brakes set paused_at = now() - interval '25 hours'"
            )
            #expect(try await deployment.find("deletion.paused", "error").contains("every deletion is paused, for 1 d"))
            try await run("deletion", "resume", "--all", "--confirm=all")
            try await deployment.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, situation, run_after, legal_deadline, paused_at)
                select gen_random_uuid(), 'app', state, situation::jsonb, now(), now() + interval '1 month', paused_at
                from (
                    values
                        ('held', '{"code": "ceiling"}', null::timestamptz), ('held', '{"code": "ceiling"}', null),
                        ('held', '{"code": "legal_hold"}', null), ('held', '{"code": "paused"}', now() - interval '3 days')
                ) as r (state, situation, paused_at)
                """
            )
            let one = try await deployment.find("deletion.paused", "warning")
            #expect(one.contains("1 request is paused") && one.contains("3 d"), "\(one)")
            // What it names to see them, typed as it stands.
            let todo = try await deployment.examine().findings.first { $0.what == one }?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (deletion list[^;]*) shows/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "situation"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "paused\n", "\(listed)")
            #expect(try await deployment.find("deletion.ceiling", "warning").contains("2 requests"))
            try await run("jobs", "pause", "mail", "--yes", "--reason", "a storm")
            #expect(try await deployment.find("jobs.paused", "warning").contains("the queue mail"))
            // Codes live for five minutes.
            try await run("jobs", "pause", "apple", "--yes")
            #expect(try await deployment.find("jobs.paused", "error").contains("the queue apple"))
        }
    }

    @Test("what to do in commands that act where the doctor looked, as the worker's log names them")
    func elsewhere() async throws {
        try await deploy { deployment in
            let paused = try await AccountctlProcess.run(
                "deletion",
                "pause",
                "--all",
                environment: deployment.variables
            )
            #expect(paused.status == 0, "\(paused.errors)")
            try await deployment.database.psql(
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, requested_at, run_after, legal_deadline
                )
                values (
                    gen_random_uuid(), 'app', 'blocked', now() - interval '40 days', now() - interval '39 days',
                    now() - interval '1 day'
                )
                """
            )
            let file = try deployment.file("staging.conf", "[environments.staging.log]\nlevel = info\n")
            let place = ["--environment", "staging", "--config", file]
            let command = "accountctl \(place.joined(separator: " ")) deletion "
            for form in [["--json", "todo"], []] {
                let doctor = try await AccountctlProcess(
                    ["doctor", "--database-only"] + place + form,
                    environment: deployment.variables
                ).result()
                for words in ["resume --all", "list --state blocked", "show"] {
                    #expect(doctor.output.replacing(#"\/"#, with: "/").contains(command + words), "\(doctor)")
                }
                #expect(!doctor.output.contains("accountctl deletion"), "\(doctor)")
            }
            // As in a clone.
            try await deployment.database.psql(
                """
                update accountctl.settings
                set value = jsonb_set(value, '{database}', '"1/1"')
                where name = 'deletion.used_with'
                """
            )
            let worker = try await AccountctlProcess(
                ["worker", "--until-idle"] + place,
                environment: deployment.variables
            ).result()
            #expect(worker.errors.replacing(#"\/"#, with: "/").contains(command + "resume --all"), "\(worker)")
        }
    }

    @Test("requests that stand still and go on by themselves, and such as fail again and again")
    func standing() async throws {
        try await deploy { deployment in
            func findings(_ changes: String) async throws -> [Finding] {
                try await deployment.database.psql("update accountctl.deletion_requests set \(changes)")
                return try await deployment.examine().findings.filter {
                    $0.code.hasPrefix("deletion.") && $0.severity != "notice"
                }
            }
            try await deployment.database.psql(
                """
                insert into auth.users (id) values ('\(OperatorStage.id(1))');
                select accountctl.open_deletion_request('\(OperatorStage.id(1))', 'app')
                """
            )
            for (state, time) in [("blocked", "within five minutes"), ("residue", "within the hour")] {
                let found = try await findings("state = '\(state)', locked_out_at = now(), settle_after = now()")
                #expect(found.map(\.code) == ["deletion.\(state)"] && found.map(\.severity) == ["error"], "\(found)")
                let why = found.first?.why ?? ""
                #expect(why.contains("they go on by themselves") && why.contains(time), "\(why)")
            }
            for (failures, time, severity) in [
                (2, "3 hours", nil), (3, "10 minutes", nil), (3, "20 minutes", "warning"), (3, "3 hours", "error"),
            ] {
                let found = try await findings(
                    """
                    state = 'running', failures = \(failures), situation = '{"code": "storage_unusable"}',
                    situation_since = now() - interval '\(time)'
                    """
                )
                #expect(found.map(\.severity) == (severity.map { [$0] } ?? []), "\(time): \(found)")
                #expect(found.allSatisfy { $0.code == "deletion.failing" && $0.what.hasSuffix(": storage_unusable") })
            }
        }
    }

    @Test("legal deadlines at risk, and passed")
    func deadlines() async throws {
        try await deploy { deployment in
            let user = UUID().uuidString.lowercased()
            try await deployment.database.psql("insert into auth.users (id, email) values ('\(user)', 'a@example.com')")
            let requested = try await AccountctlProcess.run(
                "deletion",
                "request",
                user,
                "--confirm",
                user,
                environment: deployment.variables
            )
            #expect(requested.status == 0, "\(requested.errors)")
            for left in ["3 days", "-1 hour"] {
                try await deployment.database.psql(
                    """
                    update accountctl.deletion_requests
                    set requested_at = now() - interval '40 days', legal_deadline = now() + interval '\(left)'
                    """
                )
                #expect(try await deployment.find("deletion.deadline", "error").contains("legal deadline"))
            }
        }
    }

    @Test("a schema that is missing, behind, or not as the migrations made it")
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
        try await deploy { deployment in
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
            // As an earlier version left it where the app signs up by a function of its own.
            try await deployment.database.psql(
                """
                update accountctl.settings set value = '"starter"' where name = 'profiles.origin';
                update accountctl.adoption_notes set decision = 'kept', reason = 'the app''s'
                where item = 'profiles.sign_up';
                alter table public.profiles drop constraint profiles_username_key;
                """
            )
            #expect(try await deployment.find("schema.username_rule", "warning").contains("username_length"))
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
                "delete from accountctl.migrations where number = (select max(number) from accountctl.migrations)"
            )
            #expect(try await deployment.find("schema.pending", "error").contains("1 migration"))
            try await deployment.database.psql(
                """
                insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
                values (9001, 'tomorrow', 'core', repeat('0', 64), 'done', 1, '99.1.0')
                """
            )
            #expect(try await deployment.find("schema.ahead", "warning").contains("99.1.0"))
        }
    }

    @Test("sealed values whose key is gone")
    func keys() async throws {
        try await deploy { deployment in
            let user = UUID().uuidString.lowercased()
            try await deployment.database.psql("insert into auth.users (id, email) values ('\(user)', 'a@example.com')")
            let requested = try await AccountctlProcess.run(
                "deletion",
                "request",
                user,
                "--confirm",
                user,
                "--grace-seconds",
                "0",
                environment: deployment.variables
            )
            #expect(requested.status == 0, "\(requested.errors)")
            try await deployment.database.psql(
                "update accountctl.deletion_requests set sealing_key_id = 'gone', sealed_identifiers = 'x'"
            )
            #expect(try await deployment.find("keys.sealing", "error").contains("gone"))
        }
    }

    @Test("mail streams that do not reach the relay, that nobody can tell of, and relay accounts without a stream")
    func mail() async throws {
        try await deploy { deployment in
            try await deployment.database.psql(
                "insert into auth.users (id, email) values (gen_random_uuid(), 'a@privaterelay.appleid.com')"
            )
            #expect(try await deployment.find("mail.no_stream", "notice").contains("1 account"))
            try await deployment.database.psql(
                """
                insert into accountctl.mail_streams (
                    name, from_domain, envelope_domain, signing_domain, reachable, spf, dkim, confirmed_at, next_check_at
                )
                values
                    ('bad', 'a.test', 'a.test', 'a.test', 'no', 'broken', 'broken', now(), now() + interval '1 hour'),
                    ('old', 'b.test', 'b.test', 'b.test', 'yes', 'ok', 'ok', now() - interval '4 days', now()),
                    ('late', 'c.test', 'c.test', 'c.test', 'yes', 'ok', 'ok', now(), now() - interval '1 day'),
                    ('vague', 'd.test', 'd.test', 'd.test', 'unknown', 'unknown', 'broken', now(), now()),
                    ('mute', 'e.test', 'e.test', 'e.test', 'unknown', 'unknown', 'broken', now(), now());
                update accountctl.mail_streams
                set standing = '{"unknownSince": 800000000}'
                where name = 'mute';
                insert into accountctl.mail_checks (
                    stream_id, checked_at, took, spf, dkim, reachable, conclusion, is_change, findings, answers
                )
                select id, now(), '1 s', 'unknown', 'broken', 'unknown', 'unknown', false, '[]', '[]'
                from accountctl.mail_streams
                where name in ('vague', 'mute');
                """
            )
            #expect(try await deployment.find("mail.unreachable", "error").contains("bad"))
            let (_, findings) = try await deployment.examine()
            let unknown = findings.filter { $0.code == "mail.unknown" }
            let old = try #require(unknown.first { $0.what.contains("stream old") })
            #expect(old.what.contains("for days"))
            let vague = try #require(unknown.first { $0.what.contains("stream vague") })
            #expect(vague.what.contains("too little is stated") && vague.what.contains("SPF unknown, DKIM broken"))
            #expect(!vague.what.contains("for days"))
            let mute = try #require(unknown.first { $0.what.contains("stream mute") })
            #expect(!mute.what.contains("stated") && !mute.what.contains("for days"))
            #expect(findings.filter { $0.code == "mail.overdue" }.map(\.what).joined().contains("stream late"))
            #expect(findings.filter { $0.code.hasPrefix("mail.") }.count == 5, "\(findings)")
        }
    }

    @Test("settings that are wrong, key files that others can read, a web client secret that ends")
    func settings() async throws {
        try await deploy { deployment in
            let readable = try deployment.file(
                "sealing",
                try String(
                    contentsOfFile: deployment.variables["ACCOUNTCTL_KEYS_SEALING_FILE"] ?? "",
                    encoding: .utf8
                )
            )
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: readable)
            let open = try await deployment.find(
                "keys.sealing_file",
                "warning",
                ["ACCOUNTCTL_KEYS_SEALING_FILE": readable],
                everything: true
            )
            #expect(open.contains(readable))
            let wrong = try await deployment.find(
                "settings",
                "error",
                ["ACCOUNTCTL_DELETION_GRACE": "soon"],
                everything: true
            )
            #expect(wrong.contains("deletion.grace"))
            for (days, severity, said) in [(10, "warning", "ends in 9 days"), (-1, "error", "has ended")] {
                let secret = try deployment.file("secret\(days)", Self.clientSecret(endsIn: days))
                let ends = try await deployment.find(
                    "apple.web_secret",
                    severity,
                    ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": secret],
                    everything: true
                )
                #expect(ends.contains(said), "\(ends)")
            }
            let pasted = try deployment.file("p8", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
            let key = try await deployment.find(
                "apple.web_secret",
                "error",
                ["ACCOUNTCTL_APPLE_WEB_CLIENT_SECRET_FILE": pasted],
                everything: true
            )
            #expect(key.contains(".p8"))
        }
    }

    /// A client secret as Supabase keeps it; nobody checks its signature here.
    private static func clientSecret(endsIn days: Int) -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        let header = #"{"alg":"ES256","kid":"ABCDE12345"}"#
        let claims =
            #"{"iss":"FGHIJ67890","iat":\#(now - 30 * 86_400),"exp":\#(now + days * 86_400),"#
            + #""aud":"https://appleid.apple.com","sub":"com.example.web"}"#
        return [header, claims, "signature"].map { part in
            Data(part.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        }.joined(separator: ".")
    }

    @Test("what is wrong with Apple and Storage: the key, the bucket, a bucket nobody decided about, no answer")
    func services() async throws {
        try await deploy { deployment in
            var configuration = SandboxConfiguration()
            configuration.storage = .init(
                conninfo: deployment.database.cluster.conninfo(
                    database: deployment.database.name,
                    user: "supabase_storage_admin"
                ),
                folder: deployment.folder.appendingPathComponent("files").path
            )
            let logger = Logger.silent
            try await Sandbox.with(configuration, logger: logger) { sandbox in
                let developer = sandbox.apple.developerKey
                let sound = [
                    "ACCOUNTCTL_APPLE_HOST": sandbox.baseURL, "ACCOUNTCTL_APPLE_TEAM_ID": developer.teamID,
                    "ACCOUNTCTL_APPLE_KEY_ID": developer.keyID,
                    "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try deployment.file("apple.p8", developer.privateKey),
                    "ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app", "ACCOUNTCTL_STORAGE_URL": sandbox.storage.url,
                    "ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE":
                        try deployment.file("storage.key", sandbox.storage.keys.secretKey),
                ]
                let (status, findings) = try await deployment.examine(sound, everything: true)
                #expect(status == 0, "\(findings)")
                #expect(
                    !findings.contains { $0.code.hasPrefix("apple.") || $0.code.hasPrefix("storage.") },
                    "\(findings)"
                )
                func with(_ key: String, _ value: String) -> [String: String] { sound.merging([key: value]) { $1 } }

                let wrongKey = with("ACCOUNTCTL_APPLE_KEY_ID", "ZZZZZZZZZZ")
                _ = try await deployment.find("apple.credentials", "error", wrongKey, everything: true)
                let nobody = with("ACCOUNTCTL_APPLE_HOST", "http://127.0.0.1:1")
                _ = try await deployment.find("apple.reachable", "warning", nobody, everything: true)
                let stranger = try deployment.file("other.key", "sb_secret_" + String(repeating: "x", count: 31))
                let refused = with("ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE", stranger)
                _ = try await deployment.find("storage.key", "error", refused, everything: true)
                let away = with("ACCOUNTCTL_STORAGE_URL", "http://127.0.0.1:1/storage/v1")
                _ = try await deployment.find("storage.reachable", "warning", away, everything: true)

                let photos = with("ACCOUNTCTL_DELETION_BUCKETS", "photos")
                let gone = try await deployment.find("storage.bucket", "warning", photos, everything: true)
                #expect(gone.contains("photos"))
                try await deployment.database.psql("insert into storage.buckets (id, name) values ('notes', 'notes')")
                let undecided = try await deployment.find("storage.undecided", "error", sound, everything: true)
                #expect(undecided.contains("notes"))
                let kept = with("ACCOUNTCTL_DELETION_KEPT_BUCKETS", "notes")
                #expect(
                    try await !deployment.examine(kept, everything: true).findings
                        .contains { $0.code == "storage.undecided" }
                )
            }
        }
    }
}
