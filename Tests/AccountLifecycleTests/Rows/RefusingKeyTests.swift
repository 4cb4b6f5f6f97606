import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// What a tried delete says about a foreign key that refuses it.
@Suite(.timeLimit(.minutes(5))) struct RefusingKeyTests {
    /// A foreign key violation; from PostgreSQL 18 on, a key with RESTRICT raises a restrict violation.
    @Test(arguments: ["23503", "23001"]) func aKeyThatRefusesIsNamedWithoutFurtherWords(_ state: String) async throws {
        try await TestDatabase.with(.empty) { database in
            let refusal = try await database.withConnection { connection -> PostgresError? in
                do {
                    try connection.script(
                        unsafeSQL: """
                            do $$
                            begin
                                raise 'no' using errcode = '\(state)', schema = 'public', table = 'orders', constraint = 'orders_buyer';
                            end
                            $$
                            """
                    )
                    return nil
                } catch let error as PostgresError {
                    return error
                }
            }
            let plan = DeletionPlan(DeletionCatalog(foreignKeys: []))
            let blocker = try BlockerSearch.blocker(for: try #require(refusal), among: plan)
            #expect(blocker == Blocker(table: "public.orders", name: "orders_buyer", rows: nil, code: .blockingRows))
        }
    }
}
