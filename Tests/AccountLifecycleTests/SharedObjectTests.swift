import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Objects of nobody that the profile of a leaving person names.
@Suite(.timeLimit(.minutes(5))) struct SharedObjectTests {
    /// Ways in which a profile can name the object of a key.
    private static let spellings: [@Sendable (String) -> String] = [
        { $0 },
        { "https://abc.supabase.co/storage/v1/object/public/avatars/\($0)" },
        { "HTTPS://ABC.Supabase.CO/storage/v1/object/public/avatars/\($0)" },
        { "https://abc.supabase.co/storage/v1/object/public/avatars/\($0)?t=1&v=2#top" },
        { "https://abc.supabase.co/storage/v1/object/sign/avatars/\($0)?token=e.y.J" },
        { "https://abc.supabase.co/storage/v1/render/image/public/avatars/\($0)?width=64&height=64" },
        { "https://abc.supabase.co/storage/v1/object/public/avatars/\($0.replacing("i", with: "%69"))" },
        { "https://abc.supabase.co/storage/v1/object/public/avatars/\($0.replacing("/", with: "%2F"))" },
        { "https://abc.supabase.co/storage/v1/object/public//avatars//\($0.replacing("/", with: "//"))" },
        { "https://abc.supabase.co/storage/v1/object/public/avatars/x/../\($0.replacing("/", with: "/./"))" },
        { "https:\\\\abc.supabase.co\\avatars\\\($0.replacing("/", with: "\\"))" },
        { "https://cdn.example.com/\($0)" },
        { "https://app.test/image?url=https%3A%2F%2Fx.test%2Favatars%2F\($0.replacing("/", with: "%252F"))&w=64" },
        { "https://app.example.com/avatar?size=2&path=\($0)&t=1" },
        { " \($0)\n" },
        { String(repeating: "/", count: 5000) + $0 },
        { "https://x.test/avatars/\($0)?t=" + String(repeating: "t", count: 5000) },
    ]

    private func counts(_ request: UUID, on stage: Stage) async throws -> [String: Int] {
        try await stage.value(
            """
            select facts -> 'counts'
            from accountctl.deletion_steps
            where request_id = \(request) and step = 'delete_avatars'
            """,
            as: JSON<[String: Int]>.self
        ).value
    }

    private func setAvatar(of person: Person, _ text: String, on stage: Stage) async throws {
        try await stage.sql("update public.profiles set avatar_url = \(text) where id = \(person.id)")
    }

    @Test func whatAnotherProfileNamesInAnyWayStays() async throws {
        try await Stage.with { stage in
            for (number, spelling) in Self.spellings.enumerated() {
                // Keys of several lengths; some are the end of none.
                let key = String(repeating: "p", count: number * 5) + "\(number)/pic.png"
                let person = try await stage.signUp("anna\(number)", apple: false)
                let other = try await stage.signUp("berta\(number)", apple: false)
                #expect(try await stage.upload(key, by: nil))
                try await setAvatar(of: person, key, on: stage)
                try await setAvatar(of: other, spelling(key), on: stage)
                let before = try await stage.fingerprint(other)
                let plan = try await stage.plan(person)
                #expect(plan?.buckets == [.init(name: "avatars", objects: 0, fate: .deleted, shared: 1)])
                let request = try await stage.request(person)
                #expect(try await stage.drive(request) == .ended(.verified))
                let kept: Statement = "select from storage.objects where name = \(key)"
                #expect(try await stage.count(kept) == 1, "\(spelling(key))")
                #expect(try await stage.outcome(.deleteAvatars, request) == "ok", "\(spelling(key))")
                #expect(try await counts(request, on: stage) == ["objects": 0, "shared": 1], "\(spelling(key))")
                #expect(try await stage.fingerprint(other) == before)
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == Self.spellings.count)
            let evidence: Statement = """
                select
                from accountctl.deletion_receipts as r, jsonb_array_elements(r.document -> 'steps') as s (step)
                where step -> 'facts' -> 'counts' ->> 'shared' = '1'
                """
            #expect(try await stage.count(evidence) == Self.spellings.count)
        }
    }

    @Test func whatAnotherAccountNamesElsewhereStays() async throws {
        try await Stage.with { stage in
            try await stage.database.psql(
                "alter table public.profiles add cover_url text, add look jsonb, add old json"
            )
            let url = "https://abc.supabase.co/storage/v1/object/public/avatars/"
            let places: [@Sendable (String, Person) -> Statement] = [
                { "update public.profiles set cover_url = \(url + $0) where id = \($1.id)" },
                { "update public.profiles set look = jsonb_build_object('a', array[\($0)::text]) where id = \($1.id)" },
                {
                    // As programs write that keep to ASCII, and with what no text of the server's can hold.
                    """
                    update public.profiles
                    set old = ('{"a": "\\u0000\\ud800", "b": "\\ud83d\\ude00\\/' || replace(\($0), 'pics/', '\\u0070ics\\u002F') || '"}')::json
                    where id = \($1.id)
                    """
                },
                {
                    "update auth.users set raw_user_meta_data = jsonb_build_object('picture', \($0)::text) where id = \($1.id)"
                },
            ]
            for (number, place) in places.enumerated() {
                let key = "pics/\(number).png"
                let person = try await stage.signUp("anna\(number)", apple: false)
                let other = try await stage.signUp("berta\(number)", apple: false)
                #expect(try await stage.upload(key, by: nil))
                try await setAvatar(of: person, key, on: stage)
                // What a person names twice is not shared for that.
                try await stage.sql("update public.profiles set cover_url = avatar_url where id = \(person.id)")
                #expect(try await stage.plan(person)?.buckets.map(\.shared) == [0])
                try await stage.sql(place(key, other))
                #expect(try await stage.plan(person)?.buckets.map(\.shared) == [1], "\(number)")
                let request = try await stage.request(person)
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await stage.count("select from storage.objects where name = \(key)") == 1, "\(number)")
            }
        }
    }

    @Test func whatNoOtherProfileNamesGoes() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            for key in ["pics/a+b.png", "pics/a b.png", "a+b.png"] {
                #expect(try await stage.upload(key.replacing(" ", with: "%20"), by: nil))
            }
            try await setAvatar(of: person, "https://x.test/avatars/pics/a+b.png?t=1", on: stage)
            let others = [
                "https://x.test/avatars/pics/a+b.pngx", "https://x.test/avatars/pics/b.png", "%%", "?", "", "//",
                "pics",
                "https://x.test/avatars/pics/a+b.png/2", "https://x.test/avatars/topics/a+b.png",
            ]
            for (number, text) in others.enumerated() {
                let other = try await stage.signUp("berta\(number)", apple: false)
                try await setAvatar(of: other, text, on: stage)
            }
            let plan = try await stage.plan(person)
            #expect(plan?.buckets == [.init(name: "avatars", objects: 1, fate: .deleted, shared: 0)])
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await counts(request, on: stage) == ["objects": 1])
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 2)
        }
    }

    /// A profile can be made to name the app's own files: what was there before the account is not what it brought.
    @Test func whatWasThereBeforeTheAccountStays() async throws {
        try await Stage.with { stage in
            #expect(try await stage.upload("default.png", by: nil))
            let person = try await stage.signUp(apple: false)
            #expect(try await stage.upload("own.png", by: nil))
            for (key, own) in [("default.png", false), ("own.png", true)] {
                try await setAvatar(of: person, key, on: stage)
                let bucket = DeletionPreview.Bucket(
                    name: "avatars",
                    objects: own ? 1 : 0,
                    fate: .deleted,
                    shared: own ? 0 : 1
                )
                #expect(try await stage.plan(person)?.buckets == [bucket], "\(key)")
            }
            try await setAvatar(of: person, "default.png", on: stage)
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await counts(request, on: stage) == ["objects": 0, "shared": 1])
            #expect(try await stage.count("select from storage.objects where name = 'default.png'") == 1)
        }
    }

    /// Both leave: whoever is the last takes it along.
    @Test func whatOnlyThoseWhoAreGoneNamedGoesWithTheLast() async throws {
        try await Stage.with { stage in
            var requests: [UUID] = []
            for name in ["anna", "berta"] {
                let person = try await stage.signUp(name, apple: false)
                try await setAvatar(of: person, "team.png", on: stage)
                requests.append(try await stage.request(person))
            }
            #expect(try await stage.upload("team.png", by: nil))
            for (request, counted) in zip(requests, [["objects": 0, "shared": 1], ["objects": 1]]) {
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await counts(request, on: stage) == counted)
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    /// Each was told that the other names it; when both have gone on, nobody names it.
    @Test func whatTwoWhoLeaveAtOnceNamedGoesWithTheLast() async throws {
        try await Stage.with { stage in
            var requests: [UUID] = []
            for name in ["anna", "berta"] {
                let person = try await stage.signUp(name, apple: false)
                try await setAvatar(of: person, "team.png", on: stage)
                requests.append(try await stage.request(person))
            }
            #expect(try await stage.upload("team.png", by: nil))
            for request in requests {
                try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.deleteAvatars)))
                #expect(try await counts(request, on: stage) == ["objects": 0, "shared": 1])
            }
            // Both come as far as they can, and end only then.
            let drives = try await stage.admin.withTransaction { [requests] connection in
                try connection.execute("select \(DeletionBrakes.awaiting)")
                let drives = requests.map { request in Task { try await stage.drive(request) } }
                try await stage.database.waitUntilBlocked(sessions: 2)
                return drives
            }
            for drive in drives { #expect(try await drive.value == .ended(.verified)) }
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            let told = [try await counts(requests[0], on: stage), try await counts(requests[1], on: stage)]
            #expect(told.sorted { $0.count > $1.count } == [["objects": 0, "shared": 1], ["objects": 1]])
        }
    }

    @Test func whatTheOtherNoLongerNamesWhenTheRowsGoGoes() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            #expect(try await stage.upload("team.png", by: nil))
            for one in [person, other] { try await setAvatar(of: one, "team.png", on: stage) }
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                #expect(try await counts(request, on: stage) == ["objects": 0, "shared": 1])
                try await setAvatar(of: other, "else.png", on: stage)
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            #expect(try await counts(request, on: stage) == ["objects": 1])
        }
    }

    /// A file that comes late takes the run back, when the profile is gone that named what stayed.
    @Test func theReceiptCountsWhatStayedHoweverOftenFilesAreDeleted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            #expect(try await stage.upload("team.png", by: nil))
            for one in [person, other] { try await setAvatar(of: one, "team.png", on: stage) }
            #expect(try await stage.upload("\(person.text)/first.png", by: nil))
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.verify)) {
                let isThere = try await stage.upload("\(person.text)/late.png", by: nil)
                #expect(isThere)
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            let told = try await stage.value(
                """
                select concat_ws(' ', step ->> 'runs', step ->> 'outcome', step -> 'facts' ->> 'counts')
                from accountctl.deletion_receipts as r, jsonb_array_elements(r.document -> 'steps') as s (step)
                where step ->> 'step' = 'delete_avatars'
                """,
                as: String.self
            )
            #expect(told == #"2 ok {"shared": 1, "objects": 2}"#)
        }
    }

    private static let profiles = DeletionCatalog.Profiles(
        table: TableName("public", "profiles"),
        key: "id",
        hasAvatarURL: true,
        texts: ["avatar_url"],
        documents: []
    )

    /// Two keys of different bytes that Swift calls equal.
    @Test func keysThatLookTheSameAreTwo() async throws {
        try await Stage.with { stage in
            var people: [UUID] = []
            for (number, key) in ["\u{212B}bcd.png", "\u{C5}bcd.png"].enumerated() {
                try await stage.sql("insert into storage.objects (bucket_id, name) values ('avatars', \(key))")
                for name in ["anna", "berta"] {
                    let person = try await stage.signUp("\(name)\(number)", apple: false)
                    try await setAvatar(of: person, key, on: stage)
                    if name == "anna" { people.append(person.id) }
                }
            }
            let found = try await stage.admin.withConnection { [people] connection in
                try AccountObjects.find(of: people, profiles: Self.profiles, on: connection)
            }
            #expect(people.map { found[$0]?.shared } == [1, 1])
        }
    }

    /// Many keys end with the same name: what is before it is compared, too.
    @Test func profilesThatNameOthersAreNotSent() async throws {
        try await Stage.with { stage in
            try await stage.database.psql(
                """
                set session_replication_role = replica;
                insert into auth.users (id, created_at) select md5('u' || n)::uuid, now() from generate_series(1, 3000) as n;
                insert into public.profiles (id, avatar_url)
                select md5('u' || n)::uuid, 'https://x.test/storage/v1/object/public/avatars/' || n || '/avatar.png?t=1'
                from generate_series(1, 3000) as n
                """
            )
            for key in ["34.png", "1234/avatar.png", "storage/v1/object/public/avatars/1234/avatar.png"] {
                let shared = SharedObjects([NamedObject(account: UUID(), key: key)])
                let sent = try await stage.count(shared.statement(for: Self.profiles))
                #expect(sent == (key == "34.png" ? 0 : 1), "\(key)")
            }
        }
    }

    @Test func aHostileProfileTakesNobodysFiles() async throws {
        try await Stage.with { stage in
            let victim = try await stage.signUp("victim")
            let owned = "\(UUID().uuidString).jpeg"
            #expect(try await stage.upload(owned, by: victim))
            var attackers: [Person] = []
            for number in 0..<4 { attackers.append(try await stage.signUp("attacker\(number)")) }
            // Files nobody owns: one that two profiles name, one in the victim's folder, one that the attacker alone
            // names.
            for key in ["shared.jpeg", "\(victim.text)/free.jpeg", "own.jpeg"] {
                #expect(try await stage.upload(key, by: nil))
            }
            try await stage.sql("update public.profiles set avatar_url = 'shared.jpeg' where id = \(victim.id)")
            let left = ["shared.jpeg", "\(victim.text)/free.jpeg", owned]
            for (index, url) in (left + ["own.jpeg"]).enumerated() {
                let person = attackers[index]
                let full = index == 2 ? "https://x.supabase.co/storage/v1/object/public/avatars/\(url)?v=1" : url
                try await stage.sql("update public.profiles set avatar_url = \(full) where id = \(person.id)")
                let request = try await stage.request(person)
                #expect(try await stage.drive(request) == .ended(.verified))
            }
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects order by name", as: String.self)
            }
            // What two name, what lies in somebody's folder and what somebody owns all stay.
            #expect(Set(keys).isSuperset(of: left))
            #expect(!keys.contains("own.jpeg"))
        }
    }

    /// Put there by the app's server, for one: it is its owner's, and the receipt tells of it.
    @Test func whatSomebodyElseOwnsInTheFolderStays() async throws {
        try await Stage.with { stage in
            let owner = try await stage.signUp("owner")
            let person = try await stage.signUp()
            for (name, owner) in [("own", person.id), ("nobodys", nil), ("theirs", owner.id)] {
                let key = "\(person.text)/\(name).png"
                #expect(try await stage.upload(key, by: nil))
                try await stage.sql(
                    "update storage.objects set owner = \(owner), owner_id = \(owner)::text where name = \(key)"
                )
            }
            // Handed over by the column that Storage documents; the deprecated one says otherwise.
            #expect(try await stage.upload("handed-over.png", by: person))
            try await stage.sql("update storage.objects set owner_id = \(owner.text) where name = 'handed-over.png'")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects order by name collate \"C\"", as: String.self)
            }
            #expect(keys == ["\(person.text)/theirs.png", "handed-over.png"])
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains("files that other accounts own") && !receipt.contains(person.text))
        }
    }

    /// However many profiles there are, they are read once, and hardly any is sent.
    @Test func profilesAreReadOnce() async throws {
        try await Stage.with { stage in
            try await stage.database.psql(
                """
                set session_replication_role = replica;
                insert into auth.users (id, created_at) select md5('u' || n)::uuid, now() from generate_series(1, 3000) as n;
                insert into public.profiles (id, avatar_url)
                select id, 'https://x.test/storage/v1/object/public/avatars/' || md5(id::text) || '/avatar.png?t=1' from auth.users;
                insert into storage.objects (bucket_id, name)
                select 'avatars', md5(id::text) || '/avatar.png' from auth.users
                """
            )
            try await stage.database.psql("vacuum analyze auth.users, public.profiles, storage.objects")
            let read: Statement = """
                select seq_tup_read + coalesce(idx_tup_fetch, 0)
                from pg_stat_all_tables
                where relid = 'public.profiles'::regclass
                """
            let before = try await stage.value(read, as: Int.self)
            let users = try await stage.admin.withConnection { connection in
                try connection.query("select id from auth.users limit 10", as: UUID.self)
            }
            try await stage.pool.withConnection { connection in
                for user in users {
                    let preview = try await DeletionPreview.read(
                        user,
                        policy: Stage.swift,
                        asksTriggers: false,
                        on: connection
                    )
                    #expect(preview?.buckets.map(\.objects) == [1])
                }
                try connection.execute("select pg_stat_force_next_flush()")
            }
            let after = try await stage.value(read, as: Int.self)
            #expect(after - before < users.count * 3100, "\(after - before) rows")
        }
    }
}

extension Stage {
    /// What the deletion of a person would do.
    fileprivate func plan(_ person: Person) async throws -> DeletionPreview? {
        try await pool.withConnection { connection in
            try await DeletionPreview.read(person.id, policy: Stage.swift, asksTriggers: false, on: connection)
        }
    }
}
