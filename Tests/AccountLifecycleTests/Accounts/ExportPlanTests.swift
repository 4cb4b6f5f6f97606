import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite("The server's plans for the queries of an export", .timeLimit(.minutes(5)))
struct ExportPlanTests {
    @Test("The condition for a table grows with its distance from the account, not with the number of paths")
    func manyKeys() async throws {
        try await Stage.with { stage in
            let (own, other) = (try await stage.signUp().id, try await stage.signUp().id)
            var statements = [
                """
                create table public.far_0 (id int primary key, owner uuid references auth.users);
                insert into public.far_0 values (1, '\(own)'), (2, '\(other)'), (3, '\(own)'), (4, '\(other)');
                """
            ]
            let last = 8
            for level in 1...last {
                statements.append(
                    """
                    create table public.far_\(level) (
                        id int primary key,
                        parent int references public.far_\(level - 1),
                        root int references public.far_0
                    );
                    insert into public.far_\(level) values (1, 1, 3), (2, 2, 2), (3, 3, null), (4, 1, 2), (5, 4, null);
                    """
                )
            }
            try await stage.database.psql(statements.joined())
            let (lines, rows) = try await stage.admin.withConnection { connection in
                let plan = ExportPlan(try DeletionCatalog.read(on: connection))
                let rows: Statement = """
                    select id
                    from public.far_\(unsafeSQL: "\(last)")
                    where \(plan.condition(for: TableName("public", "far_\(last)"), user: own))
                    order by id
                    """
                return (
                    try connection.query("explain \(rows)", as: String.self).count,
                    try connection.query(rows, as: Int32.self)
                )
            }
            // The plan visits each level once; visiting each level twice would make thousands of lines.
            #expect(lines < 50 * last, "\(lines)")
            #expect(rows == [1, 3])
        }
    }
}
