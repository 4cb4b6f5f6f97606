import Foundation
import ObjectStorage
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// A bucket that keeps versions: each has an owner of its own, and a delete by key removes nothing.
@Suite(.timeLimit(.minutes(5))) struct StorageVersionTests {
    /// Deletes as whoever uploads does, which leaves a mark.
    private func hide(_ key: String, on stage: Stage) async throws {
        let outcome = try await stage.storage.delete([StorageTarget(key)], in: "avatars")
        guard case .done = outcome else { throw Unexpected(outcome) }
    }

    /// What was deleted long ago goes for good, and what somebody else has put in its place stays.
    @Test func everyVersionOfTheAccountGoesAndNoOther() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            // The id in a name that is no folder's is residue, in a mark as well.
            let hidden = ["team.png", "\(person.text)/me.png", "\(person.text)-1.png"]
            for key in hidden + ["mine.png"] { #expect(try await stage.upload(key, by: person)) }
            for key in hidden { try await hide(key, on: stage) }
            #expect(try await stage.upload("team.png", by: nil))
            try await stage.sql(
                """
                update storage.objects
                set owner = \(other.id), owner_id = \(other.text)
                where name = 'team.png' and archived_at is null
                """
            )
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let left = try await stage.value(
                """
                select string_agg(concat_ws(' ', name, owner_id, archived_at is null), ',')
                from storage.objects
                where not is_delete_marker
                """,
                as: String.self
            )
            #expect(left == "team.png \(other.text) t")
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            #expect(try await stage.avatarCounts(request)["objects"] == 6)
            let marks = try await stage.value(
                "select string_agg(name, ',') from storage.objects where is_delete_marker",
                as: String.self
            )
            #expect(marks == "team.png")
            #expect(try await !stage.traces(of: person).contains("storage.objects"))
        }
    }

    /// It keeps what it has, and a delete by key would hide that as before.
    @Test func versionsOfASuspendedBucketGo() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            #expect(try await stage.upload("me.png", by: person))
            try await hide("me.png", on: stage)
            try await stage.sql("update storage.buckets set versioning_status = 'SUSPENDED' where id = 'avatars'")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    /// No call names what has no version; a delete by its key would hide what somebody else has put there since.
    @Test func aFileWithoutAVersionIsNotDeletedByItsKey() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            #expect(try await stage.upload("old.png", by: person))
            try await stage.sql("update storage.objects set version = null, archived_at = now()")
            #expect(try await stage.objects(of: person).map(\.target) == ["old.png"])
            try await stage.keepVersions()
            #expect(try await stage.objects(of: person).map(\.version) == [.missing])
            // Nor does anything else go that cannot be taken back.
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["storage.objects"])
            #expect(blockers.map(\.name) == ["avatars"])
            #expect(blockers.map(\.rows) == [1])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
        }
    }

    /// Its bucket keeps versions since the preflight: what a call names goes first.
    @Test func aFileWithoutAVersionIsToldAfterTheLockOutToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            for key in ["new.png", "old.png"] { #expect(try await stage.upload(key, by: person)) }
            let request = try await stage.request(person)
            try await stage.drive(request, once: .before(.deleteAvatars)) {
                try await stage.sql("update storage.objects set version = null where name = 'old.png'")
                try await stage.keepVersions()
            }
            #expect(try await stage.state(request) == "blocked")
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["storage.objects"])
            #expect(try await stage.value("select name from storage.objects", as: String.self) == "old.png")
        }
    }

    /// Its bucket keeps versions since the file was found: all of them are the account's, and more than a call takes.
    @Test func versionsThatCameSinceAFileWasFoundGoInSeveralCalls() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            // The last one is judged once a call's worth of others is gone.
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id, version)
                select 'avatars', 'file' || (1000 + n), \(person.id), \(person.text), 'first'
                from generate_series(1, 501) as n
                """
            )
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .middle(.deleteAvatars)) {
                try await stage.keepVersions()
                try await stage.sql(
                    """
                    insert into storage.objects (bucket_id, name, owner, owner_id, version, archived_at, is_versioned)
                    select 'avatars', 'file1501', \(person.id), \(person.text), n::text, now(), true
                    from generate_series(1, 500) as n
                    """
                )
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 3)
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    /// Between two versions, too: the older one would be there again once the newer has gone.
    @Test func aMarkAboveAnothersVersionStays() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            let key = "\(person.text)/me.png"
            #expect(try await stage.upload(key, by: nil))
            try await stage.sql("update storage.objects set owner = \(other.id), owner_id = \(other.text)")
            try await hide(key, on: stage)
            #expect(try await stage.upload(key, by: nil))
            #expect(try await stage.objects(of: person).map(\.place) == [.current])
        }
    }

    /// Without it, a file that somebody else deleted would be there again; and whoever knows an account's id could keep its
    /// erasure from its end by such a file.
    @Test func aMarkThatHidesAnothersFileStays() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            let key = "\(person.text)/me.png"
            #expect(try await stage.upload(key, by: nil))
            try await hide(key, on: stage)
            #expect(try await stage.objects(of: person).map(\.place) == [.archived])
            try await stage.sql(
                """
                update storage.objects
                set owner = \(other.id), owner_id = \(other.text)
                where not is_delete_marker
                """
            )
            #expect(try await stage.objects(of: person) == [])
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let asBefore: Statement = "select from storage.objects where is_delete_marker = (archived_at is null)"
            #expect(try await stage.count(asBefore) == 2)
        }
    }
}

extension Stage {
    /// What is found to be an account's own.
    fileprivate func objects(of person: Person) async throws -> [StoredObject] {
        try await admin.withConnection { connection in
            try AccountObjects.find(
                of: [person.id],
                profiles: nil,
                folders: AvatarFolders(),
                on: connection
            )[person.id]?.objects ?? []
        }
    }
}
