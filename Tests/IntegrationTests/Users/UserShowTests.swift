import Foundation
import TestSupport
import Testing

@Suite("Showing an account through the program", .timeLimit(.minutes(5)))
struct UserShowTests {
    private static let anna = OperatorStage.id(1)

    /// Files of two accounts, and of nobody.
    ///
    /// Anna has two in the bucket's root, as the tutorial names them, one of which is her avatar, and one in her
    /// folder, as Swift writes ids. Somebody else has one in her folder and one in the root.
    private static let files = """
        insert into storage.objects (bucket_id, name, owner, owner_id, metadata)
        values
            ('avatars', 'new.jpeg', '\(anna)', '\(anna)', '{"size": 1000}'),
            ('avatars', 'old.jpeg', null, upper('\(anna)'), '{"size": 200}'),
            ('avatars', upper('\(anna)') || '/older.jpeg', null, null, '{"size": 30}'),
            ('avatars', '\(anna)/planted.jpeg', '\(OperatorStage.id(2))', '\(OperatorStage.id(2))', '{"size": 4}'),
            ('avatars', 'theirs.jpeg', '\(OperatorStage.id(2))', null, '{"size": 5}'),
            ('avatars', 'nobodys.jpeg', null, null, '{"size": 6}');
        update public.profiles set avatar_url = 'new.jpeg' where id = '\(anna)';
        """

    private struct Shown: Decodable {
        struct Files: Decodable, Equatable {
            let bucket: String
            let count: Int
            let bytes: Int
            let unused: Int?
            let shared: Int?
        }
        let files: [Files]
    }

    private func files(_ stage: OperatorStage, _ settings: [String: String] = [:]) async throws -> [Shown.Files] {
        let words = ["user", "show", Self.anna, "--json", "files"]
        let result = try await AccountctlProcess(words, environment: stage.variables.merging(settings) { $1 }).result()
        #expect(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode(Shown.self, from: Data(result.output.utf8)).files
    }

    /// The time at which the profile was saved, as it is shown.
    private func saved(_ result: AccountctlProcess.Result) throws -> String? {
        struct Shown: Decodable {
            let profile: [String: String?]
        }
        return try JSONDecoder().decode(Shown.self, from: Data(result.output.utf8)).profile["updated_at"] ?? nil
    }

    @Test("The time at which a profile was saved is written like every other time")
    func savedAt() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let database = stage.database
            let at = "2024-11-02T10:30:00.120Z"
            try await database.psql("update public.profiles set updated_at = '2024-11-02 12:30:00.12+02'")
            // The zone in which the server writes times makes no difference.
            try await database.psql(
                """
                do $$
                begin
                    execute format('alter database %I set timezone = %L', current_database(), 'Asia/Kolkata');
                end $$
                """
            )
            let json = try await stage.run(["user", "show", Self.anna, "--json", "profile"])
            #expect(try saved(json) == at, "\(json)")
            let table = try await stage.run(["user", "show", Self.anna])
            #expect(table.output.contains(/updated_at +2024-11-02 10:30:00Z, .+ ago/), "\(table)")
            // Infinity, and a column whose type the app has changed.
            try await database.psql("update public.profiles set updated_at = 'infinity'")
            let endless = try await stage.run(["user", "show", Self.anna, "--json", "profile"])
            #expect(try saved(endless) == "infinity", "\(endless)")
            try await database.psql("alter table public.profiles alter column updated_at type text using 'today'")
            let own = try await stage.run(["user", "show", Self.anna, "--json", "profile"])
            #expect(try saved(own) == "today", "\(own)")
        }
    }

    @Test("An account's files count wherever they lie, even if they are not in use; files of others do not")
    func avatars() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            try await stage.database.psql(Self.files)
            let bucket = "avatars"
            #expect(try await files(stage) == [.init(bucket: bucket, count: 3, bytes: 1230, unused: 2, shared: 0)])
            // The avatar is named by a public URL, and by its key.
            for url in ["https://x.supabase.co/storage/v1/object/public/avatars/new.jpeg?t=1", "new.jpeg"] {
                try await stage.database.psql("update public.profiles set avatar_url = '\(url)'")
                #expect(try await files(stage).first?.unused == 2, "\(url)")
            }
            try await stage.database.psql("update public.profiles set avatar_url = 'nobodys.jpeg'")
            // Both profiles name this file, so a deletion would leave it.
            #expect(try await files(stage) == [.init(bucket: bucket, count: 3, bytes: 1230, unused: 3, shared: 1)])
            let plan = try await stage.run(["deletion", "plan", Self.anna, "--json", "objects", "--format", "ndjson"])
            #expect(plan.output.contains(#""objects":3,"shared":1}]"#), "\(plan)")
            try await stage.database.psql(
                "update public.profiles set avatar_url = 'else.jpeg' where id = '\(OperatorStage.id(2))'"
            )
            #expect(try await files(stage) == [.init(bucket: bucket, count: 4, bytes: 1236, unused: 3, shared: 0)])
            // A file in another bucket is no avatar.
            try await stage.database.psql(
                """
                insert into storage.buckets (id, name) values ('scans', 'scans');
                insert into storage.objects (bucket_id, name, owner_id) values ('scans', 'a.png', '\(Self.anna)')
                """
            )
            #expect(try await files(stage).last == .init(bucket: "scans", count: 1, bytes: 0, unused: nil, shared: nil))
            let screen = try await stage.run(["user", "show", Self.anna])
            for text in ["NOT IN USE  SHARED, STAY", "scans"] {
                #expect(screen.output.contains(text), "\(screen.output)")
            }
        }
    }

    @Test("Files in the app's own folders are not counted, whether one profile names them or several")
    func foldersOfTheApp() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            try await stage.database.psql(
                """
                insert into storage.objects (bucket_id, name, metadata)
                values ('avatars', 'defaults/x.png', '{"size": 6}');
                update public.profiles set avatar_url = 'defaults/x.png' where id = '\(Self.anna)'
                """
            )
            let kept = ["ACCOUNTCTL_DELETION_KEPT_AVATAR_FOLDERS": "defaults"]
            let own = Shown.Files(bucket: "avatars", count: 1, bytes: 6, unused: 0, shared: 0)
            let others: [[String: String]] = [[:], ["ACCOUNTCTL_DELETION_AVATAR_FOLDERS": "defaults"]]
            for settings in others {
                #expect(try await files(stage, settings) == [own], "\(settings)")
            }
            #expect(try await files(stage, kept) == [])
            try await stage.database.psql("update public.profiles set avatar_url = 'defaults/x.png'")
            #expect(try await files(stage).map(\.shared) == [1])
            #expect(try await files(stage, kept) == [])
        }
    }

    @Test("What Apple reported last is shown until the person signs in again")
    func mark() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            try await stage.database.psql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, updated_at)
                values ('001.a', '\(Self.anna)', '{}', 'apple', now() - interval '3 days', now() - interval '2 days');
                insert into accountctl.apple_identity_marks (user_id, state, since)
                values ('\(Self.anna)', 'consent_revoked', now() - interval '1 day');
                """
            )
            let shown = try await stage.run(["user", "show", Self.anna, "--tsv", "apple.mark,apple.marked_at"])
            #expect(shown.output.contains("consent_revoked"), "\(shown)")
            try await stage.database.psql("update auth.identities set updated_at = now()")
            let since = try await stage.run(["user", "show", Self.anna, "--tsv", "apple.mark,apple.marked_at"])
            #expect(since.status == 0 && !since.output.contains("consent_revoked"), "\(since)")
        }
    }

    @Test("A text that the log does not take is refused with the option's name, before anything is done")
    func lengths() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let database = stage.database
            func text(_ count: Int) -> String { String(repeating: "é", count: count) }
            let commands = [
                ["user", "suspend", Self.anna, "--yes"], ["user", "sign-out", Self.anna], ["user", "hold", Self.anna],
                ["user", "show", Self.anna, "--reveal"],
                ["user", "export", Self.anna, "--output", stage.path("a.tar")],
                ["deletion", "request", Self.anna, "--confirm=\(Self.anna)"], ["deletion", "pause", "--all"],
                ["avatars", "sweep", "--confirm=1"],
            ]
            let before = try await database.psql("select u::text from auth.users as u")
            for command in commands {
                for (option, limit) in [("--reason", 1000), ("--as", 200), ("--ticket", 200)] {
                    let others = option == "--reason" ? [] : ["--reason", "why"]
                    let long = try await stage.run(command + others + [option, text(limit + 1)])
                    #expect(long.status == 2 && long.output.isEmpty, "\(command) \(option): \(long.errors.prefix(200))")
                    #expect(long.errors.contains("\(option) has \(limit + 1) characters: at most \(limit) are kept"))
                }
            }
            // The check of the length also refuses an empty text.
            for option in ["--reason", "--as", "--ticket"] {
                let empty = try await stage.run(["user", "sign-out", Self.anna, option, " "])
                #expect(empty.status == 2 && empty.errors.contains("\(option) is empty"), "\(empty.errors)")
            }
            let name = try await AccountctlProcess(
                ["user", "sign-out", Self.anna],
                environment: stage.variables.merging(["ACCOUNTCTL_OPERATOR": text(201)]) { $1 }
            ).result()
            #expect(name.status == 2 && name.errors.contains("ACCOUNTCTL_OPERATOR"), "\(name.errors)")
            #expect(try await database.psql("select count(*) from accountctl.operator_log") == "0")
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "0")
            #expect(try await database.psql("select u::text from auth.users as u") == before)
            #expect(!FileManager.default.fileExists(atPath: stage.path("a.tar")))
            // The longest text that fits is kept whole.
            let longest = ["--reason", text(1000), "--as", text(200), "--ticket", text(200)]
            for command in [
                ["user", "hold", Self.anna], ["deletion", "request", Self.anna, "--confirm=\(Self.anna)"],
            ] {
                let kept = try await stage.run(command + longest)
                #expect(kept.status == 0, "\(command): \(kept.errors.prefix(300))")
            }
            let lengths =
                "select distinct length(reason), length(operator), length(ticket) from accountctl.operator_log"
            #expect(try await database.psql(lengths) == "1000|200|200")
        }
    }
}
