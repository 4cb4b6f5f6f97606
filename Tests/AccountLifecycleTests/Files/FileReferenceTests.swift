import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Rows of an app's tables that refer to files in Storage.
@Suite(.timeLimit(.minutes(5))) struct FileReferenceTests {
    /// Rows whose foreign key keeps files block the deletion before anything is touched, even rows that cascade with
    /// the account.
    ///
    /// Storage deletes the files before any row is deleted. It would refuse for good, when the account is already
    /// locked out and its grants are revoked.
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
            let driver = DeletionDriver(stage.services())
            _ = try await driver.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["public.scans"])
            #expect(blockers.map(\.name) == ["scans_file_fkey"])
            #expect(blockers.map(\.rows) == [3])
            #expect(blockers.map(\.code) == [.blockingRows])
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            let preview = try await stage.preview(of: person, asksTriggers: true)
            #expect(preview?.blockers == blockers)
            try await stage.sql(
                """
                alter table public.scans
                drop constraint scans_file_fkey,
                add foreign key (file) references storage.objects on delete cascade
                """
            )
            // The catalog is read again at once, since the key that refused no longer exists.
            #expect(try await driver.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.scans where owner = \(other.id)") == 3)
        }
    }

    /// Checks and publications that would make Storage's delete fail after the lock-out are found before it.
    ///
    /// No trial delete of ours can run into them.
    @Test(arguments: [
        (
            """
            create table public.scans (
                file uuid references storage.objects on delete set null,
                url text,
                constraint scans_source check (file is not null or lower(url) is not null)
            )
            """,
            "comment on table public.scans is 'not published'",
            Situation.Code.blockingRows
        ),
        (
            """
            create table public.scans (
                file uuid references storage.objects on delete set null,
                preview uuid references storage.objects on delete set null,
                constraint scans_some check (file is not null or preview is not null)
            )
            """,
            "update public.scans set preview = file",
            .blockingRows
        ),
        (
            """
            create table public.scans (
                file uuid references storage.objects on delete set null,
                preview uuid references storage.objects on delete set null,
                thumbnail uuid references storage.objects on delete set null,
                constraint scans_some check (file is not null or preview is not null or thumbnail is not null)
            )
            """,
            "update public.scans set preview = file, thumbnail = file",
            .blockingRows
        ),
        // Without three of the four files, but not without fewer, nor without all.
        (
            """
            create table public.scans (
                file uuid references storage.objects on delete set null,
                second uuid references storage.objects on delete set null,
                third uuid references storage.objects on delete set null,
                fourth uuid references storage.objects on delete set null,
                is_ready boolean not null default false,
                constraint scans_several check (not is_ready or num_nonnulls(file, second, third, fourth) <> 1)
            )
            """,
            "update public.scans set second = file, third = file, fourth = file, is_ready = true",
            .blockingRows
        ),
        (
            "create table public.scans (file uuid references storage.objects on delete cascade)",
            "create publication changes for table public.scans",
            .unpublishable
        ),
        (
            "create table public.scans (file uuid references storage.objects on delete set null)",
            "create publication changes for tables in schema public",
            .unpublishable
        ),
    ])
    func whatOnlyStoragesDeleteMeetsIsFoundBeforehand(
        _ table: String,
        _ published: String,
        _ code: Situation.Code
    ) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            for statement in [table, "insert into public.scans select id from storage.objects", published] {
                try await stage.sql(Statement(unsafeSQL: statement))
            }
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.table) == ["public.scans"])
            #expect(blockers.map(\.code) == [code])
            #expect(blockers.map(\.rows) == [3])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            try await stage.sql("drop table public.scans")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// A row that satisfies its check without the file, or whose replica identity is published, does not keep a file.
    @Test func whatLetsFilesGoKeepsNothing() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.scans (
                    file uuid references storage.objects on delete set null,
                    url text,
                    id uuid primary key default gen_random_uuid(),
                    check (file is not null or url is not null)
                )
                """
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.scans select id, 'https://x.test' from storage.objects")
            try await stage.sql("create publication changes for table public.scans (id, url)")
            try await stage.erase(person)
            #expect(try await stage.count("select from public.scans where file is null") == 3)
        }
    }

    /// A publication keeps no file if it covers only other tables, other changes, a replica identity, or unlogged
    /// tables.
    @Test func whatPublicationsLetGoKeepsNothing() async throws {
        try await Stage.with { stage in
            for statement in [
                "create schema app authorization postgres",
                "create table public.unpublished (file uuid references storage.objects on delete cascade)",
                "create table public.changed (file uuid references storage.objects on delete set null)",
                """
                create table public.named (
                    file uuid references storage.objects on delete cascade,
                    id uuid primary key default gen_random_uuid()
                )
                """,
                "create unlogged table app.quick (file uuid references storage.objects on delete cascade)",
                "alter table app.quick owner to postgres",
            ] as [Statement] { try await stage.sql(statement) }
            let person = try await stage.fullAccount()
            for table in ["public.unpublished", "public.changed", "public.named", "app.quick"] {
                try await stage.sql(Statement(unsafeSQL: "insert into \(table) (file) select id from storage.objects"))
            }
            for statement in [
                "create publication some_changes for table public.changed with (publish = 'delete')",
                "create publication some_columns for table public.named (id)",
                "create publication some_schema for tables in schema app",
            ] as [Statement] { try await stage.sql(statement) }
            try await stage.erase(person)
            #expect(try await stage.count("select from public.changed where file is null") == 3)
        }
    }

    /// A check does not keep a file if a trigger makes the row meet it, such as by filling in a placeholder.
    @Test func aCheckThatATriggerHasRowsMeetKeepsNothing() async throws {
        try await Stage.with { stage in
            for statement in [
                """
                create table public.scans (
                    file uuid references storage.objects on delete set null,
                    url text,
                    check (file is not null or url is not null)
                )
                """,
                """
                create function public.replace() returns trigger language plpgsql as
                $$ begin new.url := coalesce(new.url, 'gone.png'); return new; end $$
                """,
                "create trigger replace before update on public.scans for each row execute function public.replace()",
            ] as [Statement] { try await stage.sql(statement) }
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.scans select id from storage.objects")
            try await stage.erase(person)
            #expect(try await stage.count("select from public.scans where url = 'gone.png'") == 3)
        }
    }

    /// Rows that keep files are named even if they are inserted after the preflight.
    ///
    /// They are found in the database, since Storage reports the refusal only as an invalid request.
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

    /// Rows that refer to rows which cascade with files block the deletion, since Storage's delete would be refused.
    @Test func rowsThatKeepWhatGoesWithFilesAreNamedBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            for statement in [
                """
                create table public.attachments (
                    id uuid primary key,
                    file uuid references storage.objects on delete cascade,
                    preview_of uuid references public.attachments on delete cascade
                )
                """,
                "create table public.scans (attachment uuid constraint scans_key references public.attachments)",
            ] as [Statement] { try await stage.sql(statement) }
            let (person, other) = (try await stage.fullAccount(), try await stage.fullAccount("berta"))
            try await stage.sql("insert into public.attachments select id, id, null from storage.objects")
            // The preview has no file of its own, and cascades with the attachment that it belongs to.
            let preview = UUID()
            try await stage.sql(
                """
                insert into public.attachments
                select \(preview), null, min(id::text)::uuid
                from storage.objects
                where owner = \(person.id)
                """
            )
            try await stage.sql(
                """
                insert into public.scans
                select id from storage.objects where owner = \(other.id)
                union all
                select \(preview)::uuid
                """
            )
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.name) == ["scans_key"])
            #expect(blockers.map(\.rows) == [1])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 6)
            try await stage.sql("delete from public.scans where attachment = \(preview)")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.attachments") == 3)
        }
    }

    /// Rows that keep others block the deletion even if both cascade with files.
    ///
    /// Here attachments reply to one another, and in how many statements Storage deletes their files is unknown.
    @Test func rowsThatKeepOthersWhichGoWithFilesAreNamedThoughTheyGoWithFilesThemselves() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.attachments (
                    id uuid primary key references storage.objects on delete cascade,
                    reply_to uuid constraint replies_key references public.attachments
                )
                """
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.attachments select id from storage.objects")
            try await stage.sql(
                """
                update public.attachments as a
                set reply_to = first.id
                from (select min(id::text)::uuid as id from public.attachments) as first
                where a.id <> first.id
                """
            )
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(blockers.map(\.name) == ["replies_key"])
            #expect(blockers.map(\.rows) == [2])
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 0)
            try await stage.sql("update public.attachments set reply_to = null")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// A failure of Storage is not attributed to rows that cascade with files, even if too many came after the
    /// preflight, and also where the server has never counted them.
    @Test(arguments: [true, false]) func whatStorageFailsAtIsNotLaidToRowsThatGoAlong(_ areCounted: Bool) async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.likes (file uuid references storage.objects on delete cascade)")
            let person = try await stage.fullAccount()
            let like: Statement = "insert into public.likes select id from storage.objects, generate_series(1, 4)"
            if areCounted {
                for statement in [like, "analyze public.likes", "delete from public.likes"] {
                    try await stage.sql(statement)
                }
            }
            var policy = Stage.swift
            policy.maximumRows = 11
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.status(503), for: .storageDeleteMany)
            try await stage.drive(request, policy, once: .before(.deleteAvatars)) { try await stage.sql(like) }
            #expect(try await stage.situation(request)?.code == .storageUnusable)
        }
    }

    @Test func aTriggerOnFilesIsNamedWhereSomeGoAndNotAsked() async throws {
        try await Stage.with { stage in
            for statement in [
                "create function public.unlink() returns trigger language plpgsql as $$ begin return old; end $$",
                """
                create trigger unlink before delete on storage.objects
                for each row execute function public.unlink()
                """,
            ] as [Statement] { try await stage.sql(statement) }
            let (person, other) = (try await stage.fullAccount(), try await stage.signUp("berta"))
            for (one, names) in [(person, ["unlink"]), (other, [])] as [(Person, [String])] {
                let preview = try await stage.preview(of: one, asksTriggers: true)
                #expect(preview?.triggers.map(\.name) == names)
                #expect(preview?.untried.map(\.description) == names.map { "storage.objects.\($0)" })
            }
        }
    }

    /// The plan counts rows that cascade with files, since they may be anybody's, and too many of them stop the
    /// deletion, also where the server has never counted them.
    @Test(arguments: [true, false])
    func rowsThatGoWithFilesAreCountedBeforeAnythingIsTouched(_ areCounted: Bool) async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.likes (file uuid references storage.objects on delete cascade)")
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.likes select id from storage.objects, generate_series(1, 4)")
            if areCounted { try await stage.sql("analyze public.likes") }
            let preview = try await stage.preview(of: person)
            let table = try #require(preview?.tables.first { $0.table == TableName("public", "likes") })
            #expect(table.rows == 12)
            #expect(table.reachedBy == ["likes_file_fkey"])
            #expect(preview?.blockers.isEmpty == true)
            var policy = Stage.swift
            policy.maximumRows = 11
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            #expect(try await stage.situation(request)?.blockers?.map(\.table) == ["public.likes"])
            #expect(try await stage.situation(request)?.code == .tooLarge)
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            policy.maximumRows = 12
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from public.likes") == 0)
        }
    }
}
