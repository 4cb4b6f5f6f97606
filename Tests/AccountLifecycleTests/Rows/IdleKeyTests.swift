import AccountLifecycle
import Foundation
import Postgres
import TestSupport
import Testing

/// Where a key's triggers are disabled, as an aborted restore leaves them, the server would silently leave rows behind.
@Suite(.timeLimit(.minutes(5))) struct IdleKeyTests {
    @Test(arguments: [
        (
            [
                """
                create table public.notes (
                    author uuid constraint notes_key references auth.users on delete cascade
                )
                """
            ],
            "select id from auth.users", "auth.users", "auth.users"
        ),
        // A single partition of the referenced table.
        (
            [
                """
                create table public.events (id int primary key, author uuid references auth.users on delete cascade)
                partition by range (id)
                """,
                "create table public.events_1 partition of public.events for values from (0) to (9)",
                "insert into public.events select 1, id from auth.users",
                "create table public.notes (event int constraint notes_key references public.events on delete cascade)",
            ],
            "select 1", "public.events_1", "public.events"
        ),
        (
            ["create table public.notes (file uuid constraint notes_key references storage.objects on delete cascade)"],
            "select id from storage.objects", "storage.objects", "storage.objects"
        ),
    ])
    func aKeyThatDoesNotActIsNamed(
        _ statements: [String],
        _ rows: String,
        _ disabled: String,
        _ target: String
    ) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            for statement in statements + ["insert into public.notes \(rows)"] {
                try await stage.sql(Statement(unsafeSQL: statement))
            }
            try await stage.sql("alter table \(unsafeSQL: disabled) disable trigger all")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blockers = try #require(try await stage.situation(request)?.blockers)
            #expect(Set(blockers.map(\.code)) == [.idleKey])
            let notes = try #require(blockers.first { $0.table == "public.notes" })
            #expect(notes.name == "notes_key" && notes.detail == "its triggers on \(target) are disabled")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            let preview = try await stage.preview(of: person, asksTriggers: true)
            #expect(preview?.blockers == blockers)
            try await stage.sql("alter table \(unsafeSQL: target) enable trigger all")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.notes") == 0)
        }
    }
}
