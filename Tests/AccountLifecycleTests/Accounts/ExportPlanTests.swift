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

    @Test("However keys meet, the rows are those that lead to the account and to nobody else")
    func keysThatMeet() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let graphs = try await TableGraph.createSome(for: person.id, on: stage)
            let plan = try await stage.admin.withConnection { ExportPlan(try DeletionCatalog.read(on: $0)) }
            var meetings = 0
            for graph in graphs {
                for table in TableGraph.tables {
                    let name = graph.name(of: table)
                    let condition = plan.condition(for: name, user: person.id)
                    meetings += condition.text.contains("way_0") ? 1 : 0
                    let found = try await stage.admin.withTransaction { connection -> [Int] in
                        // As the program's own sessions have it: compiling takes seconds for each.
                        try connection.execute("set local jit to off")
                        return try connection.query("select id from \(name.quoted) where \(condition)", as: Int.self)
                    }
                    #expect(Set(found) == graph.concerning(table), "\(name)")
                }
            }
            // Otherwise the graphs are too thin to show anything.
            #expect(meetings > 10)
        }
    }

    /// Along each way by itself, the last table would be read in eight thousand ways.
    @Test("The condition for a table stays short where tables refer to all before them")
    func tablesThatReferToAllBeforeThem() {
        let tables = (0..<14).map { TableName("public", "t\($0)") }
        let plan = ExportPlan(DeletionCatalog(foreignKeys: ForeignKey.from(tables)))
        let condition = plan.condition(for: tables[tables.count - 1], user: UUID())
        #expect(condition.text.utf8.count < 500_000)
    }
}
