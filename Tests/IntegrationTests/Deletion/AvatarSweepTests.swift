import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("Sweeping avatars", .timeLimit(.minutes(5)))
struct AvatarSweepTests {
    private static let anna = OperatorStage.id(1)
    private static let bob = OperatorStage.id(2)
    private static let held = OperatorStage.id(3)
    private static let leaving = OperatorStage.id(4)

    /// Uploads objects of every kind, all old except one; the objects to delete have `left` in their names.
    private func fill(_ storage: StorageStage) async throws {
        try await storage.stage.addAccounts(4)
        for (key, person) in [
            ("left-of-anna.jpeg", Self.anna), ("named-by-key.jpeg", Self.anna), ("named-by-url.jpeg", Self.anna),
            ("named with blank.jpeg", Self.anna), ("named-by-bob.jpeg", Self.anna), ("young.jpeg", Self.anna),
            ("\(Self.anna.uppercased())/left.jpeg", Self.anna), ("held.jpeg", Self.held),
            ("leaving.jpeg", Self.leaving),
        ] { try await storage.upload(key, by: person) }
        // Objects in the folder of another account, to which nobody writes any more.
        for key in ["\(Self.held)/avatars/bare.jpeg", "\(Self.held)/parameter.jpeg"] {
            try await storage.upload(key, by: nil)
        }
        try await storage.upload("\(Self.bob)/left-in-folder.jpeg", by: nil)
        try await storage.upload("of-nobody.jpeg", by: nil)
        try await storage.stage.database.psql(
            """
            alter table storage.objects disable trigger user;
            update storage.objects set created_at = now() - interval '60 days', updated_at = now() - interval '60 days'
            where name <> 'young.jpeg';
            update storage.objects set owner = '\(Self.anna)', owner_id = '\(Self.anna)' where name like '\(Self.held)/%';
            alter table storage.objects enable trigger user;
            update public.profiles set avatar_url = 'named-by-key.jpeg' where id = '\(Self.anna)';
            update public.profiles set avatar_url = 'https://x.example/storage/v1/object/public/avatars/named-by-bob.jpeg?t=1'
            where id = '\(Self.bob)';
            update public.profiles set avatar_url = 'https://x.example/avatars/named%20with%20blank.jpeg'
            where id = '\(Self.held)';
            update public.profiles set avatar_url = 'avatars/named-by-url.jpeg#x' where id = '\(Self.leaving)';
            insert into auth.users (id) values ('\(OperatorStage.id(5))'), ('\(OperatorStage.id(6))');
            insert into public.profiles (id, avatar_url) values
                ('\(OperatorStage.id(5))', '\(Self.held)/avatars/bare.jpeg'),
                ('\(OperatorStage.id(6))', 'https://app.example/avatar?path=\(Self.held)/parameter.jpeg')
            on conflict (id) do update set avatar_url = excluded.avatar_url;
            insert into accountctl.holds (user_id, reason, placed_by) values ('\(Self.held)', 'court', 'olga');
            select accountctl.open_deletion_request('\(Self.leaving)', 'app');
            """
        )
    }

    @Test("A sweep deletes only old, owned objects that no profile names, and only if the count confirms it")
    func sweep() async throws {
        try await StorageStage.with { storage in
            try await fill(storage)
            let stage = storage.stage
            let all = try await storage.keys()
            let look = try await stage.run(["avatars", "sweep", "--json"])
            #expect(look.status == 0, "\(look.errors)")
            #expect(look.output.contains(#""objects": 3"#), "\(look.output)")
            #expect(!look.output.contains("left-of-anna"), "keys are masked")
            let wrong = try await stage.run(["avatars", "sweep", "--confirm=2"])
            #expect(wrong.status == 2)
            #expect(try await stage.run(["avatars", "sweep", "--confirm=3", "--dry-run"]).status == 0)
            #expect(try await storage.keys() == all)

            let done = try await stage.run(["avatars", "sweep", "--confirm=3", "--reason", "yearly", "--json"])
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.output.contains(#""deleted": 3"#))
            #expect(try await storage.keys() == all.filter { !$0.contains("left") })
            let log = "select action, reason, facts ->> 'objects' from accountctl.operator_log"
            #expect(try await stage.database.psql(log) == "avatars.sweep|yearly|3")
            let again = try await stage.run(["avatars", "sweep", "--confirm=3"])
            #expect(again.status == 0)
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "1")
        }
    }

    @Test("A file that an account names in any column, in JSON or in its metadata is in use")
    func otherTexts() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(2)
            let named =
                ["cover", "banner", "tile", "listed", "odd", "meta", "picture", "deep", "escaped", "lone"].map {
                    "\($0).jpeg"
                }
            for key in named + ["left.jpeg"] { try await storage.upload("\(Self.anna)/\(key)", by: Self.anna) }
            try await stage.database.psql(
                #"""
                alter table storage.objects disable trigger user;
                update storage.objects set created_at = now() - interval '60 days', updated_at = now() - interval '60 days';
                alter table storage.objects enable trigger user;
                create domain public.address as varchar(500);
                alter table public.profiles
                    add cover_url text, add "Banner ""url""" public.address, add look jsonb, add list text[], add odd json,
                    add ascii json;
                update public.profiles
                set cover_url = 'https://x.test/storage/v1/object/public/avatars/' || id || '/cover.jpeg',
                    "Banner ""url""" = id || '/banner.jpeg',
                    look = jsonb_build_object('tiles', jsonb_build_array(1, null, jsonb_build_object('at', id || '/tile.jpeg'))),
                    list = array['first', null, id || '/listed.jpeg'],
                    odd = ('{"text": "a\u0000b \"quoted\"", "at": "https:\/\/x.test\/avatars\/' || id || '\/odd.jpeg?t=1"}')::json,
                    ascii = (
                        '{"\\u0000": "\\\u0000", "lone": "\uD83D\udc00\udc00\uD83D\/' || id || '\/\ud83dlone.jpeg",'
                        '"at": "' || id || '\u002Fesc\u0061ped.jpeg"}'
                    )::json
                where id = '\#(Self.anna)';
                update auth.users
                set raw_user_meta_data = jsonb_build_object(
                        'avatar_url', 'https://x.test/avatars/\#(Self.anna)/meta.jpeg', 'picture', '\#(Self.anna)/picture.jpeg',
                        'app', jsonb_build_object('pictures', jsonb_build_array('\#(Self.anna)/deep.jpeg'))
                    )
                where id = '\#(Self.bob)';
                insert into auth.users (id, raw_user_meta_data) values
                    ('\#(OperatorStage.id(3))', '[]'), ('\#(OperatorStage.id(4))', 'null'), ('\#(OperatorStage.id(5))', '"x"')
                """#
            )
            let look = try await stage.run(["avatars", "sweep", "--json"])
            #expect(look.output.contains(#""objects": 1,"#), "\(look)")
            let done = try await stage.run(["avatars", "sweep", "--confirm=1", "--json"])
            #expect(done.status == 0 && done.output.contains(#""deleted": 1"#), "\(done)")
            #expect(try await storage.keys() == named.map { "\(Self.anna)/\($0)" }.sorted())
        }
    }

    @Test("A sweep that stops half-way says how many objects it deleted")
    func halfWay() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(1)
            // The sweep needs more than one call to Storage; the log entry for the second call cannot be written.
            try await stage.database.psql(
                """
                alter table storage.objects disable trigger user;
                insert into storage.objects (bucket_id, name, owner, owner_id, created_at, updated_at)
                select 'avatars', n || '.jpeg', '\(Self.anna)', '\(Self.anna)', '2020-01-01', '2020-01-01'
                from generate_series(1, 600) as n;
                alter table storage.objects enable trigger user;
                create function public.refuse_second() returns trigger language plpgsql as $$
                begin
                    if exists (select from accountctl.operator_log where action = 'avatars.sweep') then
                        raise exception 'the log is full';
                    end if;
                    return new;
                end
                $$;
                create trigger refuse_second before insert on accountctl.operator_log
                for each row execute function public.refuse_second()
                """
            )
            let stopped = try await TerminalSession.run(
                ["avatars", "sweep", "--confirm=600", "--json"],
                environment: stage.variables
            )
            let screen = stopped.screen
            #expect(stopped.status == 1 && screen.contains("the log is full"), "\(screen)")
            #expect(screen.contains("stopped half-way"), "\(screen)")
            #expect(screen.contains(#""deleted": 500"#), "\(screen)")
            // The progress line ends before the JSON begins.
            #expect(screen.contains("500/600"), "\(screen)")
            #expect(!screen.split(separator: "\n").contains { $0.contains("500/600") && $0.contains("{") }, "\(screen)")
            #expect(try await storage.keys().count == 100)
        }
    }

    @Test("A sweep whose deletion took effect but was answered with an error is reported as stopped half-way")
    func lostAnswer() async throws {
        try await StorageStage.with { storage in
            try await fill(storage)
            var lost = Fault.status(500)
            lost.effect = .before
            storage.sandbox.faults.set(lost, for: .storageDeleteMany)
            let stopped = try await storage.stage.run(["avatars", "sweep", "--confirm=3", "--json"])
            #expect(stopped.status == 75 && stopped.errors.contains("stopped half-way"), "\(stopped)")
            #expect(stopped.output.contains(#""deleted": 0"#), "\(stopped)")
            #expect(try await storage.keys().count == 10)
        }
    }

    @Test("A refused Storage key and missing settings are permanent failures, an unreachable Storage a temporary one")
    func misconfigured() async throws {
        try await StorageStage.with { storage in
            try await fill(storage)
            let stage = storage.stage
            let key = stage.path("other.key")
            try ("sb_secret_" + String(repeating: "x", count: 31)).write(toFile: key, atomically: true, encoding: .utf8)
            let account = OperatorStage.id(1)
            let faults: [(variables: [String: String]?, status: Int32, said: String)] = [
                (["ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": key], 4, "storage.service_key_file"),
                (nil, 2, "storage.url"),
                (["ACCOUNTCTL_STORAGE_URL": "http://127.0.0.1:1/storage/v1"], 75, "accountctl doctor"),
            ]
            let unset = stage.variables.filter { !$0.key.hasPrefix("ACCOUNTCTL_STORAGE") }
            for (variables, status, said) in faults {
                let wrong = OperatorStage(
                    database: stage.database,
                    folder: stage.folder,
                    variables: variables.map { stage.variables.merging($0) { $1 } } ?? unset
                )
                for words in [
                    ["avatars", "sweep", "--confirm=3"], ["user", "export", account, "--output", stage.path("a.tar")],
                ] {
                    let refused = try await wrong.run(words)
                    #expect(
                        refused.status == status && refused.errors.contains(said),
                        "\(said) \(words): \(refused)"
                    )
                }
            }
            #expect(try await storage.keys().count == 13)
        }
    }

    @Test("Nothing is deleted without Storage, rights to all rows or the avatar column of profiles, or while paused")
    func refusals() async throws {
        try await StorageStage.with { storage in
            try await fill(storage)
            let stage = storage.stage
            let elsewhere = OperatorStage(
                database: stage.database,
                folder: stage.folder,
                variables: stage.variables.merging(["ACCOUNTCTL_STORAGE_URL": "http://127.0.0.1:1/storage/v1"]) { $1 }
            )
            #expect(try await elsewhere.run(["avatars", "sweep", "--confirm=3"]).status == 75)
            let blind = try await stage.run(["avatars", "sweep", "--confirm=3"], as: "authenticated")
            #expect(blind.status == 4, "\(blind.errors)")
            #expect(try await stage.run(["avatars", "sweep", "--older-than", "5m"]).status == 2)
            #expect(try await stage.run(["deletion", "pause", "--all", "--reason", "x"]).status == 0)
            for (more, status) in [([], 0), (["--confirm=3"], Int32(6))] {
                let paused = try await stage.run(["avatars", "sweep"] + more)
                #expect(paused.status == status && paused.errors.contains("every deletion is paused"), "\(paused)")
            }
            #expect(try await stage.run(["deletion", "resume", "--all", "--confirm=all"]).status == 0)
            #expect(try await storage.keys().count == 13)
            try await stage.database.psql("alter table public.profiles drop column avatar_url")
            let unknown = try await stage.run(["avatars", "sweep", "--confirm=3"])
            #expect(unknown.status == 6, "\(unknown.errors)")
            #expect(try await storage.keys().count == 13)
        }
    }
}
