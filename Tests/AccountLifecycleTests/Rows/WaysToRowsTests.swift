import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// What the server plans to read of a table whose rows can belong to an account in more than one way.
@Suite(.timeLimit(.minutes(5))) struct WaysToRowsTests {
    /// Creates messages that people write in rooms that people own, with an index for each key.
    private func makeMessages(_ stage: Stage) async throws {
        for statement in [
            "create table public.rooms (id int primary key, owner uuid references auth.users on delete cascade)",
            """
            create table public.messages (
                id int primary key,
                sender uuid references auth.users on delete cascade,
                room int references public.rooms on delete cascade
            )
            """,
            "create table public.likes (message int references public.messages on delete cascade)",
            "create index on public.rooms (owner)",
            "create index on public.messages (sender)",
            "create index on public.messages (room)",
            "create index on public.likes (message)",
            "grant select, delete on public.rooms, public.messages, public.likes to postgres",
        ] as [Statement] { try await stage.sql(statement) }
    }

    private func part(_ table: String, of plan: DeletionPlan) throws -> DeletionPlan.Part {
        try #require(plan.parts.first { $0.table == TableName("public", table) })
    }

    @Test func noneIsReadAsAWhole() async throws {
        try await Stage.with { stage in
            try await makeMessages(stage)
            try await stage.admin.withTransaction { connection in
                try connection.execute("set local session_replication_role = replica")
                for statement in [
                    "insert into public.rooms select g, gen_random_uuid() from generate_series(1, 20000) as g",
                    "insert into public.messages select g, gen_random_uuid(), g / 5 from generate_series(1, 100000) as g",
                    "insert into public.likes select g from generate_series(1, 100000) as g",
                ] as [Statement] { try connection.execute(statement) }
            }
            try await stage.sql("analyze public.rooms, public.messages, public.likes")
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            let user = UUID()
            for table in ["messages", "likes"] {
                let part = try part(table, of: plan)
                for statement in [
                    plan.rowsGoingBeforehand(of: part, user: user).deleting(upTo: 5000),
                    DeletionPlan.inOne(plan.rowsGoingBeforehand(of: part, user: user).deletingAll()),
                    plan.goingRows(of: part, user: user).counting(upTo: 1_000_001),
                ] {
                    let told = try await stage.pool.withConnection { connection in
                        try connection.query("explain (costs off) \(statement)", as: String.self)
                            .joined(separator: "\n")
                    }
                    #expect(!told.contains("Seq Scan"), "\(told)")
                    #expect(told.contains("messages_sender_idx") && told.contains("messages_room_idx"), "\(told)")
                }
            }
        }
    }

    /// The limit exists for accounts that have too many rows.
    @Test func noMoreIsReadThanIsCounted() async throws {
        try await Stage.with { stage in
            try await makeMessages(stage)
            let person = try await stage.signUp(apple: false)
            try await stage.sql("insert into public.rooms values (1, \(person.id))")
            try await stage.sql(
                "insert into public.messages select g, \(person.id), 1 from generate_series(1, 2000) as g"
            )
            try await stage.sql("analyze public.rooms, public.messages")
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            let counting = plan.goingRows(of: try part("messages", of: plan), user: person.id).counting(upTo: 10)
            let told = try await stage.pool.withConnection { connection in
                try connection.query("explain (analyze, costs off, timing off) \(counting)", as: String.self)
                    .joined(separator: "\n")
            }
            let counts = told.matches(of: /actual rows=(\d+)/).compactMap { Int($0.output.1) }
            // Ten rows for each of the two ways.
            #expect(counts.max() == 20, "\(told)")
        }
    }

    /// Answers to a person's comments are deleted with these, whoever wrote them.
    @Test func answersOfOthersAreCountedBeforehand() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.comments (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    parent int references public.comments on delete cascade
                )
                """
            )
            try await stage.sql("grant select, delete on public.comments to postgres")
            let (person, other) = (try await stage.signUp(apple: false), try await stage.signUp("berta"))
            try await stage.sql("insert into public.comments values (1, \(person.id), null)")
            try await stage.sql("insert into public.comments select g, \(other.id), 1 from generate_series(2, 12) as g")
            try await stage.sql("analyze public.comments")
            let preview = try await stage.preview(of: person)
            let table = preview?.tables.first { $0.table == TableName("public", "comments") }
            #expect(table?.rows == 12)
            var policy = Stage.swift
            policy.maximumRows = 11
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            #expect(try await stage.situation(request)?.code == .tooLarge)
            #expect(try await stage.count("select from public.comments") == 12)
        }
    }

    /// A message in its author's own room is counted once, and takes no other row's place in the last batch.
    @Test func whatIsReachedInTwoWaysIsOneRow() async throws {
        try await Stage.with { stage in
            try await makeMessages(stage)
            let person = try await stage.signUp(apple: false)
            try await stage.sql("insert into public.rooms values (1, \(person.id))")
            // Two of the person's own messages come first.
            try await stage.sql("insert into public.messages select g, \(person.id), 1 from generate_series(1, 2) as g")
            try await stage.sql("insert into public.messages select g, null, 1 from generate_series(3, 10) as g")
            try await stage.sql("analyze public.messages")
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            let rows = plan.goingRows(of: try part("messages", of: plan), user: person.id)
            for (limit, count) in [(100, 10), (7, 7)] {
                #expect(try await stage.value(rows.counting(upTo: limit), as: Int.self) == count)
            }
            var policy = Stage.swift
            policy.batchRows = 4
            policy.maximumRows = 10
            let request = try await stage.erase(person, policy)
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 10)
        }
    }
}
