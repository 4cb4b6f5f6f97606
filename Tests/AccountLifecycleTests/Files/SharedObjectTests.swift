import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Ownerless objects that the profile of a leaving person names.
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

    @Test func whatAnotherProfileNamesInAnyWayStays() async throws {
        try await Stage.with { stage in
            for (number, spelling) in Self.spellings.enumerated() {
                // Keys of several lengths, some shorter than every ending that the server compares.
                let key = String(repeating: "p", count: number * 5) + "\(number)/pic.png"
                let person = try await stage.signUp("anna\(number)", apple: false)
                let other = try await stage.signUp("berta\(number)", apple: false)
                #expect(try await stage.upload(key, by: nil))
                try await stage.setAvatar(of: person, key)
                try await stage.setAvatar(of: other, spelling(key))
                let before = try await stage.fingerprint(other)
                let plan = try await stage.preview(of: person)
                #expect(plan?.buckets == [.init(name: "avatars", objects: 0, fate: .deleted, shared: 1)])
                let request = try await stage.erase(person)
                let kept: Statement = "select from storage.objects where name = \(key)"
                #expect(try await stage.count(kept) == 1, "\(spelling(key))")
                #expect(try await stage.outcome(.deleteAvatars, request) == "ok", "\(spelling(key))")
                #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1], "\(spelling(key))")
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
                    // JSON as written by programs that keep to ASCII, with escapes that no text value of the server can
                    // hold.
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
                try await stage.setAvatar(of: person, key)
                // An object that one person names twice is not shared.
                try await stage.sql("update public.profiles set cover_url = avatar_url where id = \(person.id)")
                #expect(try await stage.preview(of: person)?.buckets.map(\.shared) == [0])
                try await stage.sql(place(key, other))
                #expect(try await stage.preview(of: person)?.buckets.map(\.shared) == [1], "\(number)")
                try await stage.erase(person)
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
            try await stage.setAvatar(of: person, "https://x.test/avatars/pics/a+b.png?t=1")
            let others = [
                "https://x.test/avatars/pics/a+b.pngx", "https://x.test/avatars/pics/b.png", "%%", "?", "", "//",
                "pics",
                "https://x.test/avatars/pics/a+b.png/2", "https://x.test/avatars/topics/a+b.png",
            ]
            for (number, text) in others.enumerated() {
                let other = try await stage.signUp("berta\(number)", apple: false)
                try await stage.setAvatar(of: other, text)
            }
            let plan = try await stage.preview(of: person)
            #expect(plan?.buckets == [.init(name: "avatars", objects: 1, fate: .deleted, shared: 0)])
            let request = try await stage.erase(person)
            #expect(try await stage.avatarCounts(request) == ["objects": 1])
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 2)
        }
    }

    /// A file that is older than the account is kept, since a profile can be made to name the app's own files.
    @Test func whatWasThereBeforeTheAccountStays() async throws {
        try await Stage.with { stage in
            #expect(try await stage.upload("default.png", by: nil))
            let person = try await stage.signUp(apple: false)
            #expect(try await stage.upload("own.png", by: nil))
            for (key, own) in [("default.png", false), ("own.png", true)] {
                try await stage.setAvatar(of: person, key)
                let bucket = DeletionPreview.Bucket(
                    name: "avatars",
                    objects: own ? 1 : 0,
                    fate: .deleted,
                    shared: own ? 0 : 1
                )
                #expect(try await stage.preview(of: person)?.buckets == [bucket], "\(key)")
            }
            try await stage.setAvatar(of: person, "default.png")
            let request = try await stage.erase(person)
            #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
            #expect(try await stage.count("select from storage.objects where name = 'default.png'") == 1)
        }
    }
}
