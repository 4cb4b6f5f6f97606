import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Rows that are deleted with the account by one key, and refer to it by another that does not let it go: the server
/// checks that other key before the cascades of cascades, and before cascades by keys that were declared later.
@Suite(.timeLimit(.minutes(5))) struct RowsThatGoAlongTests {
    /// Creates posts with comments, and documents: one of each per person, to which no other person's rows refer.
    private func makeTables(_ stage: Stage, for people: [Person], mayDelete: Bool = true) async throws {
        for statement in [
            "create table public.posts (id int primary key, author uuid references auth.users on delete cascade)",
            """
            create table public.comments (
                author uuid constraint comments_author_fkey references auth.users,
                post int references public.posts on delete cascade
            )
            """,
            """
            create table public.documents (
                created_by uuid references auth.users,
                owner uuid references auth.users on delete cascade
            )
            """,
        ] as [Statement] { try await stage.sql(statement) }
        for (number, person) in people.enumerated() {
            try await stage.sql("insert into public.posts values (\(number), \(person.id))")
            try await stage.sql("insert into public.comments values (\(person.id), \(number))")
            try await stage.sql("insert into public.documents values (\(person.id), \(person.id))")
        }
        if mayDelete { try await grantDeletes(stage) }
    }

    private func grantDeletes(_ stage: Stage) async throws {
        try await stage.sql("grant select, delete on public.posts, public.comments, public.documents to postgres")
    }

    @Test func theyGoBeforeWhatTheyReferTo() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.fullAccount(), try await stage.signUp("berta"))
            try await makeTables(stage, for: [person, other])
            try await stage.erase(person)
            for table in ["posts", "comments", "documents"] {
                #expect(try await stage.count("select from public.\(identifier: table)") == 1, "\(table)")
            }
            #expect(try await stage.count("select from public.documents where owner = \(other.id)") == 1)
        }
    }

    /// For instance, somebody likes a comment: the delete waits for the row lock, after which the row is no longer at
    /// its former place.
    @Test func oneThatSomebodyChangesMeanwhileGoesToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            let request = try await stage.request(person)
            let drive = try await stage.admin.withTransaction { other in
                try other.execute("update public.comments set post = post")
                let drive = Task { try await stage.drive(request) }
                try await other.waitUntilSomebodyIsBlocked()
                return drive
            }
            #expect(try await drive.value == .ended(.verified))
            #expect(try await stage.count("select from public.comments") == 0)
        }
    }

    /// The server checks the keys of rows that are deleted together at the end of their statement: no row may be left
    /// by then.
    @Test func oneOfACircleThatSomebodyChangesMeanwhileGoesToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            for statement in [
                "create table public.pages (id int primary key, author uuid references auth.users on delete cascade)",
                """
                create table public.notes (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    page int references public.pages
                )
                """,
                "alter table public.pages add best int references public.notes",
                "grant select, delete on public.pages, public.notes to postgres",
                "insert into public.pages values (1, \(person.id), null)",
                "insert into public.notes values (1, \(person.id), 1), (2, \(person.id), 1)",
                "update public.pages set best = 1",
            ] as [Statement] { try await stage.sql(statement) }
            let request = try await stage.request(person)
            let drive = try await stage.admin.withTransaction { other in
                try other.execute("update public.notes set page = page where id = 2")
                let drive = Task { try await stage.drive(request) }
                try await other.waitUntilSomebodyIsBlocked()
                return drive
            }
            #expect(try await drive.value == .ended(.verified))
            #expect(try await stage.count("select from public.notes") == 0)
        }
    }

    /// For instance, a trigger that counts comments.
    @Test func aTriggerThatChangesTheProfileRefusesNothing() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            try await stage.sql(
                """
                create function public.discount() returns trigger language plpgsql as
                $$ begin update public.profiles set website = '' where id = old.author; return old; end $$
                """
            )
            try await stage.sql(
                "create trigger discount before delete on public.comments for each row execute function public.discount()"
            )
            try await stage.erase(person)
        }
    }

    /// Somebody who met the same refusal may have written such a trigger.
    @Test(arguments: [("profiles", "author"), ("posts", "post")])
    func aTriggerMayDeleteThemItself(_ table: String, _ column: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            try await stage.sql("alter table public.posts add answers int references public.posts")
            try await stage.sql(
                """
                create function public.clean() returns trigger language plpgsql as
                $$ begin delete from public.comments where \(identifier: column) = old.id; return old; end $$
                """
            )
            try await stage.sql(
                """
                create trigger clean before delete on public.\(identifier: table)
                for each row execute function public.clean()
                """
            )
            try await stage.erase(person)
            #expect(try await stage.count("select from public.comments") == 0)
        }
    }

    /// Neither can be deleted before the other.
    @Test func thoseThatReferToEachOtherGoTogether() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            for statement in [
                "alter table public.comments add id int primary key default 1",
                "alter table public.posts add best int references public.comments",
                "alter table public.comments add about int references public.posts",
                "update public.comments set about = post",
                "update public.posts set best = 1",
            ] as [Statement] { try await stage.sql(statement) }
            try await stage.erase(person)
            #expect(try await stage.count("select from public.comments") == 0)
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    /// The rows are deleted with the account all the same: they only refuse that others are deleted before them.
    @Test(arguments: ["restrict", "set null"]) func whicheverWayTheyRefuse(_ rule: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            for table in ["posts", "profiles"] {
                try await stage.sql(
                    Statement(
                        unsafeSQL: """
                            create table public.about_\(table) (
                                author uuid references auth.users on delete cascade,
                                id \(table == "posts" ? "int" : "uuid") not null
                                    constraint about_\(table)_fkey references public.\(table) on delete \(rule)
                            )
                            """
                    )
                )
                try await stage.sql("grant select, delete on public.about_\(unsafeSQL: table) to postgres")
            }
            try await stage.sql("insert into public.about_posts select author, id from public.posts")
            try await stage.sql("insert into public.about_profiles values (\(person.id), \(person.id))")
            try await stage.erase(person)
            #expect(try await stage.count("select from public.about_posts") == 0)
            #expect(try await stage.count("select from public.about_profiles") == 0)
        }
    }

    /// The profile is deleted before the row that it refers to, where that row is deleted before the account itself.
    @Test func theProfileRefusesNothingEither() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person])
            for statement in [
                "alter table public.posts add answers int references public.posts",
                "alter table public.profiles add pinned int references public.posts on delete restrict",
                "update public.profiles set pinned = p.id from public.posts as p where p.author = profiles.id",
            ] as [Statement] { try await stage.sql(statement) }
            try await stage.erase(person)
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    /// The account's comment on another person's post is not deleted along with any other row.
    @Test func thoseThatStayRefuseAsBefore() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.fullAccount(), try await stage.signUp("berta"))
            try await makeTables(stage, for: [person, other])
            try await stage.sql("insert into public.comments values (\(person.id), 1)")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blockers = try await stage.situation(request)?.blockers
            #expect(blockers?.map(\.name) == ["comments_author_fkey"])
            #expect(blockers?.map(\.rows) == [1])
        }
    }

    /// Its key would keep the row without an account, but with a name that no search knows.
    @Test func whatAnIdentityProviderWroteGoesThoughItsKeyLetsItStay() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql(
                """
                with provider as (
                    insert into auth.sso_providers (id) values (gen_random_uuid()) returning id
                )
                insert into auth.scim_users (id, sso_provider_id, user_id, resource)
                select
                    gen_random_uuid(), provider.id, people.id,
                    jsonb_build_object('userName', people.id, 'name', jsonb_build_object('familyName', 'Ogilvy'))
                from provider
                cross join (values (\(person.id)::uuid), (\(other.id)::uuid)) as people (id)
                """
            )
            let preview = try await stage.preview(of: person)
            #expect(preview?.tables.contains { $0.table == TableName("auth", "scim_users") && $0.rows == 1 } == true)
            try await stage.erase(person)
            #expect(try await stage.count("select from auth.scim_users where user_id is null") == 0)
            #expect(try await stage.count("select from auth.scim_users where user_id = \(other.id)") == 1)
        }
    }

    /// Left to the cascades, these rows refuse the delete, which only a trial finds.
    @Test func whereWeMayNotDeleteThemThatIsFoundBeforeAnythingIsTouched() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await makeTables(stage, for: [person], mayDelete: false)
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.blockers?.map(\.name) == ["comments_author_fkey"])
            #expect(try await stage.count("select from accountctl.deletion_requests where locked_out_at is null") == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            try await grantDeletes(stage)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }
}
