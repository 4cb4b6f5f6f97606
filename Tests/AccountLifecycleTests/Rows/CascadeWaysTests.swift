import Foundation
import Postgres
import Testing

@testable import AccountLifecycle

/// The rows that go with an account, however many ways of keys lead to it.
@Suite(.timeLimit(.minutes(5))) struct CascadeWaysTests {
    @Test func rowsAreThoseOfAllWaysHoweverTheseMeet() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let graphs = try await TableGraph.createSome(for: person.id, on: stage)
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            var meetings = 0
            var found: [TableName: Set<Int>] = [:]
            for graph in graphs {
                for table in TableGraph.tables {
                    let name = graph.name(of: table)
                    let part = try #require(plan.parts.first { $0.table == name })
                    let rows = plan.goingRows(of: part, user: person.id).selecting("id")
                    meetings += rows.text.contains("way_0") ? 1 : 0
                    found[name] = Set(try await stage.pool.withConnection { try $0.query(rows, as: Int.self) })
                    #expect(found[name]?.isSuperset(of: graph.going(table)) ?? false, "\(name)")
                }
            }
            // Otherwise the graphs are too thin to show anything.
            #expect(meetings > 10)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            for graph in graphs {
                for table in TableGraph.tables {
                    let name = graph.name(of: table)
                    let left = try await stage.pool.withConnection { connection in
                        try connection.query("select id from \(name.quoted)", as: Int.self)
                    }
                    let gone = Set(graph.rows[table].map(\.id)).subtracting(left)
                    // The server follows cycles to their end.
                    #expect(found[name]?.isSubset(of: gone) ?? false, "\(name)")
                    if !graph.isCyclic { #expect(found[name] == gone, "\(name)") }
                }
            }
        }
    }

    /// Along each way by itself, the last table would be read in eight thousand ways, and in a million where ten all
    /// refer to each other.
    @Test(arguments: [(14, false, 100_000), (10, true, 1_000_000)])
    func tablesThatReferToManyMakeNoLongStatement(count: Int, areAllToAll: Bool, bytes: Int) throws {
        let tables = (0..<count).map { TableName("public", "t\($0)") }
        let keys = ForeignKey.from(tables, toAllOthers: areAllToAll)
        let plan = DeletionPlan(DeletionCatalog(foreignKeys: keys))
        let part = try #require(plan.parts.last { $0.table == tables.last })
        let rows = plan.goingRows(of: part, user: UUID()).selecting("ctid")
        #expect(rows.text.utf8.count < bytes)
    }

    /// Dictionaries of the same keys have an order of their own each.
    @Test func plansOfOneSchemaAreEqual() {
        let tables = (0..<10).map { TableName("public", "t\($0)") }
        let keys = ForeignKey.from(tables, toAllOthers: true)
        func plan() -> DeletionPlan { DeletionPlan(DeletionCatalog(foreignKeys: keys)) }
        let first = plan()
        for _ in 0..<10 { #expect(plan() == first) }
    }
}
