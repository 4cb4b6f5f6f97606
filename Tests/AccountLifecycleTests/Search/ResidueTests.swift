import Foundation
import Postgres
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct ResidueTests {
    /// One table keeps each form in each kind of column; no foreign key refers to the account.
    @Test func everyFormInEveryKindOfColumnIsFoundAndNamed() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            for statement in Self.plants { try await stage.sql(Statement(unsafeSQL: Self.filled(statement, person))) }
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let findings = try #require(try await stage.situation(request)?.findings)
            #expect(
                Dictionary(uniqueKeysWithValues: findings.map { ($0.column, $0.identifiers) }) == [
                    "public.kept.reference": [.userID], "public.kept.document": [.userID],
                    "public.kept.path": [.userID],
                    "public.kept.note": [.userID], "public.kept.compact": [.userID], "public.kept.ids": [.userID],
                    "public.kept.domain": [.userID], "public.kept.mail": [.email], "public.kept.sub": [.providerID],
                    "public.kept.tags": [.email], "public.kept_view.note": [.userID],
                    "public.log_2026.note": [.userID],
                ]
            )
            // Somebody else's longer address, and bytes that nobody can read, are not among the findings.
            #expect(!findings.contains { $0.column.hasSuffix("longer") })
            try await stage.sql("drop table public.kept cascade")
            try await stage.sql("drop table public.log")
            #expect(try await stage.drive(request) == .ended(.verified))
            let unreadable = try await stage.value(
                """
                select (facts -> 'unreadable')::text
                from accountctl.deletion_steps
                where request_id = \(request) and step = 'verify'
                """,
                as: String.self
            )
            #expect(unreadable.contains("public.blobs.data"))
        }
    }

    /// Every erasure waits for that table, and the server's own error does not name it.
    @Test func theTableThatCannotBeSearchedIsNamed() async throws {
        try await Stage.with { stage in
            let function = { (body: String) -> Statement in
                """
                create or replace function public.is_kept() returns boolean language plpgsql immutable as
                \(unsafeSQL: "$$ begin \(body); end $$")
                """
            }
            try await stage.sql(function("return true"))
            try await stage.sql("create table public.events (note text)")
            try await stage.sql("create index on public.events (note) where public.is_kept()")
            let request = try await stage.request(try await stage.signUp())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.verify)))
            try await stage.sql(function("raise exception 'no'"))
            let situation = try await stage.drive(request).failure
            #expect(situation.detail == "verify: public.events: SQLSTATE P0001")
            try await stage.sql(function("return true"))
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// What somebody writes into one column does not hide the name of another column, which an operator has to type.
    @Test func controlCharactersInARowHideNoColumn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("create table public.invoices (note text, buyer text)")
            try await stage.sql("insert into public.invoices values (\("a\u{1F}b\u{1F}"), \(person.email + "\u{1F}"))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.invoices.buyer"])
        }
    }

    /// The ways in which programs write an address into URLs, URLs within URLs, and JSON.
    @Test(arguments: [
        "https://app.test/reset?email=%22anna%2Btag%40example.com%22",
        "https://app.test/reset?email=anna+tag%40example.com",
        "https://app.test/in?next=%2Freset%3Femail%3Danna%252Btag%2540example.com",
        #"{"to": "anna\u002Btag@example.com"}"#,
        "メールはanna+tag@example.comです",
    ])
    func anAddressIsFoundAmongWhatSurroundsIt(_ text: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(email: "anna+tag@example.com")
            try await stage.sql("create table public.letters (body text)")
            try await stage.sql("insert into public.letters values (\(text))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.letters.body"])
        }
    }

    /// Realtime keeps the claims of a connected app's token until the connection ends with the token.
    @Test(arguments: [DeletionPoint.before(.settle), .after(.settle)])
    func aConnectionOfBeforeIsLookedForAtTheEnd(_ closing: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.admin.withConnection { connection in
                try connection.script(
                    unsafeSQL: """
                        create schema realtime;
                        create table realtime.subscription (id bigint, claims jsonb);
                        grant usage on schema realtime to postgres;
                        insert into realtime.subscription values (1, '{"sub": "\(person.text)"}');
                        """
                )
            }
            let request = try await stage.request(person)
            let end = try await stage.drive(request) { point in
                if point == closing { try await stage.sql("delete from realtime.subscription") }
            }
            if closing == .before(.settle) {
                #expect(end == .ended(.verified))
            } else {
                #expect(try await stage.situation(request)?.findings?.map(\.column) == ["realtime.subscription.claims"])
            }
        }
    }

    @Test func theReceiptTellsWhatIsNotFound() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider)
                values ('583231', \(person.id), '{"sub": "583231"}', 'github')
                """
            )
            try await stage.sql(Statement(unsafeSQL: "comment on table public.profiles is 'ask \(person.email)'"))
            try await stage.erase(person)
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains(#""unsearchable": 1"#), "\(receipt)")
            let limits = [
                "fewer than eight characters", "in caches", "their country code", "range columns",
                "only a name", "comments", "or after the last search",
            ]
            for limit in limits {
                #expect(receipt.contains(limit))
            }
        }
    }

    private static func filled(_ text: String, _ person: Person) -> String {
        text.replacingOccurrences(of: "{id}", with: person.text)
            .replacingOccurrences(of: "{ID}", with: person.id.uuidString)
            .replacingOccurrences(of: "{compact}", with: person.id.uuidString.replacingOccurrences(of: "-", with: ""))
            .replacingOccurrences(of: "{email}", with: person.email)
            .replacingOccurrences(of: "{sub}", with: person.sub ?? "")
    }

    private static let plants = [
        "create domain public.reference as uuid",
        """
        create table public.kept (
            reference uuid, document jsonb, path text, note text, compact varchar(64), ids uuid[], domain public.reference,
            mail text, sub text, tags text[], longer text
        )
        """,
        "insert into public.kept (reference) values ('{id}')",
        #"insert into public.kept (document) values ('{"a": [{"by": "{id}"}]}')"#,
        "insert into public.kept (path) values ('users/{id}/me.jpeg')",
        "insert into public.kept (note) values ('written by {id} in May')",
        "insert into public.kept (compact) values ('{compact}')",
        "insert into public.kept (ids) values (array['{id}'::uuid])",
        "insert into public.kept (domain) values ('{id}')",
        "insert into public.kept (mail) values ('To: <{email}>')",
        "insert into public.kept (sub) values ('{sub}')",
        "insert into public.kept (tags) values (array['x', '{email}'])",
        "insert into public.kept (longer) values ('jo{email}')",
        "create materialized view public.kept_view as select note from public.kept where note is not null",
        "create table public.log (at date, note text) partition by range (at)",
        "create table public.log_2026 partition of public.log default",
        "insert into public.log values ('2026-05-01', '{ID}')",
        "create table public.blobs (data bytea)",
    ]
}
