import AccountLifecycle
import Postgres
import Testing

/// The server refuses deletes and updates of a published table whose replica identity does not suffice.
@Suite(.timeLimit(.minutes(5))) struct UnpublishableTableTests {
    @Test(arguments: [
        (["create table public.posts (id int, author uuid references auth.users on delete cascade)"], "for all tables"),
        (
            ["create table public.posts (id int, author uuid references auth.users on delete set null)"],
            "for all tables"
        ),
        (
            [
                """
                create table public.posts (
                    id int primary key deferrable,
                    author uuid references auth.users on delete cascade
                )
                """
            ],
            "for all tables"
        ),
        (
            [
                """
                create table public.posts (
                    id int not null constraint posts_id unique,
                    author uuid references auth.users on delete cascade
                )
                """,
                "alter table public.posts replica identity using index posts_id",
                "alter table public.posts drop constraint posts_id",
            ],
            "for all tables"
        ),
        (
            [
                """
                create table public.posts (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    is_public boolean default true
                )
                """
            ],
            "for table public.posts where (is_public)"
        ),
        (
            [
                """
                create table public.posts (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    draft text
                )
                """,
                "alter table public.posts replica identity full",
            ],
            "for table public.posts (id, author)"
        ),
        // A partition is published with its parent, even a parent in another schema, and may be published without it.
        (
            [
                "create schema whole authorization postgres",
                "create table whole.posts (id int, author uuid) partition by range (id)",
                "alter table whole.posts owner to postgres",
                """
                create table public.posts partition of whole.posts (
                    foreign key (author) references auth.users on delete cascade
                ) for values from (0) to (9)
                """,
            ],
            "for tables in schema whole"
        ),
        (
            [
                "create schema whole authorization postgres",
                """
                create table whole.posts (id int, author uuid references auth.users on delete cascade)
                partition by range (id)
                """,
                "alter table whole.posts owner to postgres",
                "create table public.posts partition of whole.posts for values from (0) to (9)",
            ],
            "for table public.posts"
        ),
    ])
    func aTableThatCannotBePublishedIsNamed(_ statements: [String], _ published: String) async throws {
        try await Stage.with { stage in
            for statement in statements { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.posts values (1, \(person.id))")
            try await stage.sql("create publication changes \(unsafeSQL: published)")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .unpublishable)
            #expect(situation.blockers?.map(\.table) == ["public.posts"])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("drop publication changes")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }
}
