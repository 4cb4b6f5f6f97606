import Foundation
import ObjectStorage
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Object keys that look alike, hostile profiles, and large numbers of profiles.
@Suite(.timeLimit(.minutes(5))) struct ObjectKeyTests {
    private static let profiles = DeletionCatalog.Profiles(
        table: TableName("public", "profiles"),
        key: "id",
        hasAvatarURL: true,
        texts: ["avatar_url"],
        documents: []
    )

    /// Two keys with different bytes are distinct, even if Swift considers them equal.
    @Test func keysThatLookTheSameAreTwo() async throws {
        try await Stage.with { stage in
            var people: [UUID] = []
            for (number, key) in ["\u{212B}bcd.png", "\u{C5}bcd.png"].enumerated() {
                try await stage.sql("insert into storage.objects (bucket_id, name) values ('avatars', \(key))")
                for name in ["anna", "berta"] {
                    let person = try await stage.signUp("\(name)\(number)", apple: false)
                    try await stage.setAvatar(of: person, key)
                    if name == "anna" { people.append(person.id) }
                }
            }
            let found = try await stage.admin.withConnection { [people] connection in
                try AccountObjects.find(
                    of: people,
                    profiles: Self.profiles,
                    folders: AvatarFolders(accounts: ["/"]),
                    on: connection
                )
            }
            #expect(people.map { found[$0]?.shared } == [1, 1])
        }
    }

    /// Otherwise the archive of an account lacks one of its files, and the plan and the receipt count one too few.
    @Test func bothOfTwoKeysThatLookTheSameAreTheAccounts() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let keys = ["\u{212B}.png", "\u{C5}.png"].map { "\(person.id.text)/\($0)" }
            for key in keys {
                try await stage.sql("insert into storage.objects (bucket_id, name) values ('avatars', \(key))")
            }
            let found = try await stage.admin.withConnection { connection in
                try AccountObjects.find(of: [person.id], profiles: nil, folders: AvatarFolders(), on: connection)
            }
            #expect(found[person.id]?.objects.count == 2)
            #expect(Set(keys.map { StorageTarget($0) }).count == 2)
        }
    }

    /// The server does not send all of a very long text in a profile.
    @Test func aVeryLongAddressIsReadByItsStart() async throws {
        try await Stage.with { stage in
            let key = AccountObjects.key(in: "v.text")
            let found = try await stage.admin.withConnection { connection in
                try connection.query(
                    """
                    select left(\(key), 9), length(\(key))
                    from (values
                        (1, repeat('a', 1000000)),
                        (2, 'https://x.test/storage/v1/object/public/avatars/b.png?t=' || repeat('a', 1000000))
                    ) as v (place, text)
                    order by v.place
                    """,
                    as: (String, Int32).self
                )
            }
            #expect(found.map(\.0) == ["aaaaaaaaa", "b.png"])
            #expect(found.map(\.1) == [4096, 5])
        }
    }

    /// The path before the file name is compared as well, since many keys end with the same name.
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
                let shared = SharedObjects([
                    NamedObject(account: UUID(), object: StoredObject(bucket: "avatars", key: key))
                ])
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
            // Ownerless files: one that two profiles name, one in the victim's folder, one that only the attacker
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
                try await stage.erase(person)
            }
            let keys = try await stage.admin.withConnection {
                try $0.query("select name from storage.objects order by name", as: String.self)
            }
            // A file that two profiles name, one in another's folder, and one with an owner are all kept.
            #expect(Set(keys).isSuperset(of: left))
            #expect(!keys.contains("own.jpeg"))
        }
    }

    /// A file in the account's folder that another account owns, such as one put there by the app's server, is kept.
    ///
    /// The receipt mentions it.
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
            // The column that Storage documents names the new owner; the deprecated one still names the former.
            #expect(try await stage.upload("handed-over.png", by: person))
            try await stage.sql("update storage.objects set owner_id = \(owner.text) where name = 'handed-over.png'")
            try await stage.erase(person)
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

    /// However many profiles there are, they are read once, and hardly any are sent to the client.
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
