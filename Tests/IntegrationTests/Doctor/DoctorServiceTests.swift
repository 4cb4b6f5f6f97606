import Crypto
import Foundation
import Logging
import Sandbox
import TestSupport
import Testing

/// What services answer the doctor, and what they have answered the program before.
@Suite("The doctor reports on Apple, Storage and mail:", .timeLimit(.minutes(5)))
struct DoctorServiceTests {
    @Test("client ids that Apple rejects, and client ids of which it refuses every code")
    func refusals() async throws {
        try await DoctorStage.with { deployment in
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
            // A recorded rejection of a key that was replaced since is no error.
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

    @Test("wrong codes: a notice if single accounts submit them, an error if many accounts submit the same")
    func anybodysCodes() async throws {
        try await DoctorStage.with { deployment in
            let key = P256.Signing.PrivateKey().pemRepresentation
            let apple = [
                "ACCOUNTCTL_APPLE_TEAM_ID": "A1B2C3D4E5", "ACCOUNTCTL_APPLE_KEY_ID": "F6G7H8I9J0",
                "ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app",
                "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try deployment.file("key.p8", key),
            ]
            func codes() async throws -> [DoctorFinding] {
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

    @Test("mail streams that do not reach the relay, unknown mail streams, and relay accounts without a stream")
    func mail() async throws {
        try await DoctorStage.with { deployment in
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
            #expect(vague.what.contains("is declared and published") && vague.what.contains("SPF unknown, DKIM broken"))
            #expect(!vague.what.contains("for days"))
            let mute = try #require(unknown.first { $0.what.contains("stream mute") })
            #expect(!mute.what.contains("stated") && !mute.what.contains("for days"))
            #expect(findings.filter { $0.code == "mail.overdue" }.map(\.what).joined().contains("stream late"))
            #expect(findings.filter { $0.code.hasPrefix("mail.") }.count == 5, "\(findings)")
        }
    }

    @Test("relay accounts among so many that counting them all would exceed the statement timeout")
    func manyRelayAccounts() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                -- Sign in with Apple was added later, so relay accounts come last.
                insert into auth.users (id, email)
                select gen_random_uuid(), 'a' || g || '@example.com'
                from generate_series(1, 10000) as g;
                insert into auth.users (id, email)
                select gen_random_uuid(), 'b' || g || '@privaterelay.appleid.com'
                from generate_series(1, 10000) as g
                """
            )
            let found = try await deployment.find("mail.no_stream", "notice")
            #expect(found.contains(/^at least \d+ accounts with a relay address/), "\(found)")
        }
    }

    @Test("no missing bucket of profiles if the profiles were left out")
    func noProfiles() async throws {
        try await DoctorStage.with(migrating: ["--without-profiles"]) { deployment in
            let files = deployment.folder.appendingPathComponent("files").path
            let configuration = SandboxConfiguration(storageOf: deployment.database, files: files)
            try await Sandbox.with(configuration, logger: Logger.silent) { sandbox in
                let key = try deployment.file("storage.key", sandbox.storage.keys.secretKey)
                let storage = [
                    "ACCOUNTCTL_STORAGE_URL": sandbox.storage.url, "ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": key,
                ]
                let (_, findings) = try await deployment.examine(storage, everything: true)
                #expect(!findings.contains { $0.code.hasPrefix("storage.") }, "\(findings)")
                let photos = storage.merging(["ACCOUNTCTL_DELETION_BUCKETS": "photos"]) { $1 }
                let gone = try await deployment.find("storage.bucket", "warning", photos, everything: true)
                #expect(gone.contains("photos"))
            }
            // `migrate up` says that the profiles were left out.
            let up = try await AccountctlProcess(
                ["migrate", "up", "--visibility", "own"],
                environment: deployment.variables
            ).result()
            #expect(up.status == 0 && up.errors.contains("were left out here"), "\(up)")
        }
    }

    @Test("faults of Apple and Storage: a wrong key, a missing bucket, an undecided bucket, no answer")
    func services() async throws {
        try await DoctorStage.with { deployment in
            let files = deployment.folder.appendingPathComponent("files").path
            let configuration = SandboxConfiguration(storageOf: deployment.database, files: files)
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
                let rejected = try await deployment.examine(wrongKey, everything: true).findings
                    .first { $0.code == "apple.credentials" }
                #expect(rejected?.severity == "error", "\(String(describing: rejected))")
                #expect(rejected?.todo?.hasSuffix("accountctl apple --help.") == true)
                let nobody = with("ACCOUNTCTL_APPLE_HOST", "http://127.0.0.1:1")
                _ = try await deployment.find("apple.reachable", "warning", nobody, everything: true)
                let stranger = try deployment.file("other.key", "sb_secret_" + String(repeating: "x", count: 31))
                let refused = with("ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE", stranger)
                _ = try await deployment.find("storage.key", "error", refused, everything: true)
                let away = with("ACCOUNTCTL_STORAGE_URL", "http://127.0.0.1:1/storage/v1")
                _ = try await deployment.find("storage.reachable", "warning", away, everything: true)
                // A service that answers with an error was reached.
                for endpoint in [Endpoint.appleToken, .storageBuckets] {
                    sandbox.faults.set(.html(status: 503), for: endpoint)
                }
                let failing = try await deployment.examine(sound, everything: true).findings
                sandbox.faults.clearAll()
                for (code, outages) in [
                    ("apple.reachable", "developer.apple.com/system-status"),
                    ("storage.reachable", "Storage's own log, or https://status.supabase.com if Supabase hosts it,"),
                ] {
                    let found = try #require(failing.first { $0.code == code }, "\(failing)")
                    #expect(found.what.contains("HTTP 503") && found.todo?.contains(outages) == true, "\(found)")
                    #expect(found.why?.contains("reached") == false, "\(found)")
                }

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
                // No migration creates the bucket again, so the finding says how to create it.
                try await deployment.database.psql(
                    "set session_replication_role = replica; delete from storage.buckets where id = 'avatars'"
                )
                let without = try await deployment.examine(kept, everything: true).findings
                #expect(without.first { $0.code == "storage.bucket" }?.todo?.contains("a private bucket") == true)
            }
        }
    }
}
