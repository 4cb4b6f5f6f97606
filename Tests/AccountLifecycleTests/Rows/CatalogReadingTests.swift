import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct CatalogReadingTests {
    /// The trial would delete other people's rows, and blame what refuses that.
    @Test func aPlanThatTablesHaveOvertakenIsNotTried() async throws {
        try await Stage.with { stage in
            try await stage.createLetters()
            for statement in [
                """
                create function public.keep() returns trigger language plpgsql as
                $$ begin raise exception 'kept'; end $$
                """,
                "create trigger keep before delete on public.letters for each row execute function public.keep()",
            ] as [Statement] { try await stage.sql(statement) }
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql("insert into public.letters values (1, \(other.id))")
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            let search = BlockerSearch(plan, user: person.id)
            let before = try await stage.pool.withConnection { try await search.askTriggers(on: $0) }
            #expect(before == .pass)
            try await stage.reuseName(of: "author", in: "letters", renaming: "sender")
            try await stage.sql("update public.letters set author = \(person.id)")
            await #expect(throws: PlanOvertaken.self) {
                _ = try await stage.pool.withConnection { try await search.askTriggers(on: $0) }
            }
        }
    }

    /// The preflight starts over by a new plan: the delete would be left untried, and the account locked out.
    @Test func whatTablesHaveOvertakenIsTriedByANewPlan() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            try await stage.refuseUntried("P0001")
            let services = stage.services()
            _ = try await services.catalogs.plan(in: stage.pool)
            try await stage.sql("alter table public.profiles rename id to account")
            _ = try await DeletionDriver(services).drive(request)
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            #expect(try await stage.outcome(.lockOut, request) == nil)
        }
    }
}
