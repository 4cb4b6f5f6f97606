import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Rows of an app that refer to files of Storage.
@Suite(.timeLimit(.minutes(5))) struct FileReferenceTests {
    /// Storage is asked to delete the files before any row goes, also one that would go with the account: it would refuse
    /// for good, with the account locked out and its grants revoked.
    @Test func rowsThatKeepFilesAreNamedBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.scans (
                    owner uuid references auth.users on delete cascade,
                    file uuid constraint scans_file_fkey references storage.objects
                )
                """
            )
            let (person, other) = (try await stage.fullAccount(), try await stage.fullAccount("berta"))
            try await stage.sql("insert into public.scans select owner, id from storage.objects")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["public.scans"])
            #expect(blockers.map(\.name) == ["scans_file_fkey"])
            #expect(blockers.map(\.rows) == [3])
            #expect(blockers.map(\.code) == [.blockingRows])
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            let preview = try await stage.pool.withConnection {
                try await DeletionPreview.read(person.id, policy: Stage.swift, asksTriggers: true, on: $0)
            }
            #expect(preview?.blockers == blockers)
            try await stage.sql(
                """
                alter table public.scans
                drop constraint scans_file_fkey,
                add foreign key (file) references storage.objects on delete cascade
                """
            )
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.scans where owner = \(other.id)") == 3)
        }
    }

    /// They come after the preflight, and the server's word for them is not Storage's.
    @Test func rowsThatKeepFilesAreNamedAfterTheLockOutToo() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.scans (file uuid references storage.objects)")
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.drive(request, once: .before(.deleteAvatars)) {
                try await stage.sql("insert into public.scans select id from storage.objects")
            }
            #expect(try await stage.state(request) == "blocked")
            let blocker = try #require(try await stage.situation(request)?.blockers?.first)
            #expect(blocker.table == "public.scans")
            #expect(blocker.code == .blockingRows)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 3)
            try await stage.sql("delete from public.scans")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.avatarCounts(request) == ["objects": 3])
        }
    }
}
