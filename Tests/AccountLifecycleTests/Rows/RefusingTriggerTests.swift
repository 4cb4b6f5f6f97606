import AccountLifecycle
import Postgres
import Testing

/// Which of the triggers of a delete refuses: an app may have dozens, and has to change only that one.
@Suite(.timeLimit(.minutes(5))) struct RefusingTriggerTests {
    /// Bills come first by name and do not refuse; where both tables share one function, their rows tell which table
    /// refuses.
    ///
    /// The trigger's function calls the one that raises, which has the same name as the other trigger's function, in
    /// another schema.
    @Test(arguments: [false, true], ["keep", "keep it"])
    func theOneThatRaisesIsNamedAlone(_ isShared: Bool, _ keeper: String) async throws {
        try await expectThatOfNotesIsNamedAlone(
            "SQLSTATE P0001",
            [
                """
                create function public.\(identifier: keeper)() returns trigger language plpgsql as $$
                begin
                    if tg_table_name = 'notes' then perform app.pass(); end if;
                    return old;
                end $$
                """,
                "create schema app authorization postgres",
                """
                create function app.pass() returns void language plpgsql as $$ begin raise exception 'kept'; end $$
                """,
                """
                create trigger of_bills before delete on public.bills
                for each row execute function public.\(identifier: isShared ? keeper : "pass")()
                """,
                """
                create trigger of_notes before delete on public.notes
                for each row execute function public.\(identifier: keeper)()
                """,
            ]
        )
    }

    /// A log requires the acting user, or an existing account: no row blocks the delete, and no rule of a key would
    /// help.
    @Test(arguments: [
        ("user_id uuid not null", "auth.uid()", "SQLSTATE 23502: user_id of public.activity"),
        ("user_id public.somebody", "auth.uid()", "SQLSTATE 23514: is_somebody of public.somebody"),
        (
            "user_id uuid constraint activity_user references auth.users on delete cascade",
            "old.author",
            "SQLSTATE 23503: activity_user of public.activity"
        ),
    ])
    func theOneWhoseOwnRowIsRefusedIsNamed(_ column: String, _ value: String, _ detail: String) async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            for statement in [
                "create domain public.somebody as uuid constraint is_somebody check (value is not null)",
                "create table public.activity (\(unsafeSQL: column))",
                """
                create function public.log() returns trigger language plpgsql security definer as
                \(unsafeSQL: "$$ begin insert into public.activity values (\(value)); return old; end $$")
                """,
                "create trigger log after delete on public.posts for each row execute function public.log()",
            ] as [Statement] { try await stage.sql(statement) }
            let person = try await stage.fullAccount()
            try await stage.addPosts(1, of: person)
            let blocker = try await onlyBlocker(of: person, on: stage)
            #expect(blocker.code == .refusingTrigger)
            #expect(blocker.table == "public.posts")
            #expect(blocker.name == "log")
            #expect(blocker.detail == detail)
        }
    }

    /// The server then says only that a key's query gave an unexpected result, as an internal error.
    @Test func theRuleThatReplacesADeleteIsNamedAlone() async throws {
        try await expectThatOfNotesIsNamedAlone(
            "SQLSTATE XX000",
            [
                "create trigger of_bills before delete on public.bills for each row execute function public.pass()",
                "create rule of_notes as on delete to public.notes do instead nothing",
            ]
        )
    }

    /// Makes bills and notes with a row of an account each, and expects that of what stands in the way of its erasure,
    /// only that of notes is named.
    private func expectThatOfNotesIsNamedAlone(_ detail: String, _ statements: [Statement]) async throws {
        try await Stage.with { stage in
            for table in ["bills", "notes"] {
                try await stage.sql(
                    "create table public.\(identifier: table) (author uuid references auth.users on delete cascade)"
                )
            }
            try await stage.sql(
                "create function public.pass() returns trigger language plpgsql as $$ begin return old; end $$"
            )
            for statement in statements { try await stage.sql(statement) }
            let person = try await stage.fullAccount()
            for table in ["bills", "notes"] {
                try await stage.sql("insert into public.\(identifier: table) values (\(person.id))")
            }
            let blocker = try await onlyBlocker(of: person, on: stage)
            #expect(blocker.code == .refusingTrigger)
            #expect(blocker.table == "public.notes")
            #expect(blocker.name == "of_notes")
            #expect(blocker.detail == detail)
        }
    }

    private func onlyBlocker(of person: Person, on stage: Stage) async throws -> Blocker {
        let request = try await stage.request(person)
        try await stage.drive(request)
        let blockers = try #require(try await stage.situation(request)?.blockers)
        #expect(blockers.count == 1)
        return try #require(blockers.first)
    }
}
