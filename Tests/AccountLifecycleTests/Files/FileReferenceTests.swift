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
            // The catalog is read anew at once: the key that refused is no longer there.
            #expect(try await driver.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.scans where owner = \(other.id)") == 3)
        }
    }

    /// Storage's delete would be refused, with the account locked out, by what no delete of ours can try.
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

    /// What the key of a deleted file leaves behind may stay so, and what tells rows apart may be published with others.
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
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.scans where file is null") == 3)
        }
    }

    /// What is published by others alone, for other changes, in part with what tells its rows apart, or never.
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
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.changed where file is null") == 3)
        }
    }

    /// As where a placeholder takes the place of a file that was deleted.
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
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.scans where url = 'gone.png'") == 3)
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

    /// Storage's delete takes attachments along, and would be refused for what refers to these.
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
            // Of no file itself: it goes with the attachment that it is a preview of.
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

    /// Replies among attachments: in how many statements Storage deletes their files nobody else knows.
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

    /// Rows that came since the preflight, too many of them, have nothing to do with it.
    @Test func whatStorageFailsAtIsNotLaidToRowsThatGoAlong() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.likes (file uuid references storage.objects on delete cascade)")
            let person = try await stage.fullAccount()
            let like: Statement = "insert into public.likes select id from storage.objects, generate_series(1, 4)"
            for statement in [like, "analyze public.likes", "delete from public.likes"] {
                try await stage.sql(statement)
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
                let preview = try await stage.pool.withConnection {
                    try await DeletionPreview.read(one.id, policy: Stage.swift, asksTriggers: true, on: $0)
                }
                #expect(preview?.triggers.map(\.name) == names)
                #expect(preview?.untried.map(\.description) == names.map { "storage.objects.\($0)" })
            }
        }
    }

    /// They may be anybody's: the plan counts them, and very many stop the deletion.
    @Test func rowsThatGoWithFilesAreCountedBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.likes (file uuid references storage.objects on delete cascade)")
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.likes select id from storage.objects, generate_series(1, 4)")
            try await stage.sql("analyze public.likes")
            let preview = try await stage.pool.withConnection {
                try await DeletionPreview.read(person.id, policy: Stage.swift, asksTriggers: false, on: $0)
            }
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
