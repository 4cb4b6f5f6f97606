import Foundation
import ObjectStorage
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Versioned buckets, in which each version has its own owner, and a delete by key removes nothing.
@Suite(.timeLimit(.minutes(5))) struct StorageVersionTests {
    /// Deletes by key, as people who upload do, which leaves a delete marker.
    private func hide(_ key: String, on stage: Stage) async throws {
        let outcome = try await stage.storage.delete([StorageTarget(key)], in: "avatars")
        guard case .done = outcome else { throw Unexpected(outcome) }
    }

    /// All versions of the account are deleted, even those hidden long ago, and another's file in their place is kept.
    @Test func everyVersionOfTheAccountGoesAndNoOther() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            let other = try await stage.signUp("berta", apple: false)
            // The account's id in a file name, not only in a folder's, is residue, even in that of a delete marker.
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
            let request = try await stage.erase(person)
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

    /// Versions in a bucket with suspended versioning are deleted.
    ///
    /// Such a bucket keeps its versions, and a delete by key would only hide them.
    @Test func versionsOfASuspendedBucketGo() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp("anna", apple: false)
            #expect(try await stage.upload("me.png", by: person))
            try await hide("me.png", on: stage)
            try await stage.sql("update storage.buckets set versioning_status = 'SUSPENDED' where id = 'avatars'")
            try await stage.erase(person)
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    /// A file without a version is not deleted by its key, which could hide another's newer file.
    ///
    /// No call can name a file without a version.
    @Test func aFileWithoutAVersionIsNotDeletedByItsKey() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            #expect(try await stage.upload("old.png", by: person))
            try await stage.sql("update storage.objects set version = null, archived_at = now()")
            #expect(try await stage.objects(of: person).map(\.target) == ["old.png"])
            try await stage.keepVersions()
            #expect(try await stage.objects(of: person).map(\.version) == [.missing])
            // Nothing else that cannot be undone is deleted either.
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["storage.objects"])
            #expect(blockers.map(\.name) == ["avatars"])
            #expect(blockers.map(\.rows) == [1])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
        }
    }

    /// A file without a version is reported after the lock-out too, if versioning was enabled since the preflight.
    ///
    /// The files that a call can name are deleted first.
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

    /// Versions added after a file was found are all the account's, and are deleted in several calls if one is not
    /// enough.
    @Test func versionsThatCameSinceAFileWasFoundGoInSeveralCalls() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp("anna", apple: false)
            // The last file is checked after a full batch of others has been deleted.
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

    /// A delete marker above another's version is kept, even between two versions.
    ///
    /// Once the newer version is deleted, the older would be visible again without the marker.
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

    /// A delete marker that hides another's file is kept, and does not block the erasure.
    ///
    /// Without the marker, a file that another person deleted would be visible again. If it blocked the erasure, anyone
    /// who knows an account's id could prevent the erasure with such a file.
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
            try await stage.erase(person)
            let asBefore: Statement = "select from storage.objects where is_delete_marker = (archived_at is null)"
            #expect(try await stage.count(asBefore) == 2)
        }
    }
}

extension Stage {
    /// The objects that are found to be the account's own.
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
