import AccountLifecycle
import Postgres
import TestSupport
import Testing

/// What refuses to lose its key is named with its table, whatever it is that refuses.
@Suite(.timeLimit(.minutes(5))) struct SetNullRefusalTests {
    /// A domain without NULL, a domain's check, partitions without one for NULL, and a generated column, whose
    /// constraint is nameless before PostgreSQL 18 and has the column's name here.
    @Test(arguments: [
        (
            [
                "create domain public.somebody as uuid not null",
                "create table public.bills (buyer public.somebody references auth.users on delete set null)",
            ],
            "bills_buyer_fkey", "ON DELETE SET NULL on a column that refuses NULL"
        ),
        (
            [
                "create domain public.somebody as uuid constraint is_somebody check (value is not null)",
                "create table public.bills (buyer public.somebody references auth.users on delete set null)",
            ],
            "is_somebody", "a constraint that the rows would violate without the account"
        ),
        (
            [
                """
                create table public.bills (buyer uuid references auth.users on delete set null)
                partition by range (buyer)
                """,
                "create table public.all_bills partition of public.bills for values from (minvalue) to (maxvalue)",
            ],
            "", "its partitions do not take the rows without the account"
        ),
        (
            [
                """
                create table public.bills (
                    buyer uuid references auth.users on delete set null,
                    kind text generated always as (case when buyer is not null then 'own' end) stored
                        constraint kind not null
                )
                """
            ],
            "kind", ""
        ),
    ])
    func whatRefusesToLoseItsKeyIsNamedWithItsTable(_ app: [String], _ name: String, _ detail: String) async throws {
        try await Stage.with { stage in
            for statement in app { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.bills (buyer) values (\(person.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            let blocker = try #require(try await stage.situation(request)?.blockers?.first)
            #expect(blocker.code == .blockingRows)
            #expect(blocker.table == "public.bills")
            #expect((blocker.name ?? "") == name)
            #expect((blocker.detail ?? "") == detail)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("drop table public.bills")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }
}
