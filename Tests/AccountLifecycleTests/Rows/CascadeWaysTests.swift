import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// The rows that go with an account, however many ways of keys lead to it.
@Suite(.timeLimit(.minutes(5))) struct CascadeWaysTests {
    /// Tables of a schema that refer to accounts and, by keys at random, to each other.
    private struct Graph: Sendable {
        struct Row: Sendable {
            let id: Int
            let isOwned: Bool
            /// The row of each table to which it refers.
            let references: [Int: Int]
        }

        static let tables = 0..<6
        let schema: String
        let isCyclic: Bool
        /// From which table to which.
        let keys: [(from: Int, to: Int)]
        let rows: [[Row]]

        init(_ schema: String, isCyclic: Bool, using random: inout SeededRandom) {
            self.schema = schema
            self.isCyclic = isCyclic
            var keys: [(from: Int, to: Int)] = []
            for from in Self.tables {
                for to in Self.tables where isCyclic ? to != from : to < from {
                    if random.chance(isCyclic ? 40 : 70) { keys.append((from, to)) }
                }
            }
            var rows: [[Row]] = []
            for table in Self.tables {
                rows.append(
                    (0..<15).map { id in
                        var references: [Int: Int] = [:]
                        for key in keys where key.from == table && random.chance(30) {
                            references[key.to] = Int.random(in: 0..<15, using: &random)
                        }
                        return Row(id: id, isOwned: random.chance(10), references: references)
                    }
                )
            }
            self.keys = keys
            self.rows = rows
        }

        func name(of table: Int) -> TableName { TableName(schema, "t\(table)") }

        /// Statements that create the tables with their rows and keys.
        func creating(for owner: UUID) -> [Statement] {
            var all: [Statement] = ["create schema \(identifier: schema)"]
            for table in Self.tables {
                let columns = Self.tables.map { "to_\($0) int" }.joined(separator: ", ")
                all.append(
                    """
                    create table \(name(of: table).quoted) (
                        id int primary key, owner uuid references auth.users on delete cascade, \(unsafeSQL: columns)
                    )
                    """
                )
                let values = rows[table].map { row in
                    let references = Self.tables.map { row.references[$0].map { "\($0)" } ?? "null" }
                    let account = row.isOwned ? "'\(owner.uuidString)'" : "null"
                    return "(\(row.id), \(account), \(references.joined(separator: ", ")))"
                }
                all.append(
                    """
                    insert into \(name(of: table).quoted)
                    values \(unsafeSQL: values.joined(separator: ", "))
                    """
                )
            }
            for key in keys {
                all.append(
                    """
                    alter table \(name(of: key.from).quoted)
                    add foreign key (to_\(unsafeSQL: "\(key.to)"))
                    references \(name(of: key.to).quoted) on delete cascade
                    """
                )
            }
            return all + [
                "grant usage on schema \(identifier: schema) to postgres",
                "grant select on all tables in schema \(identifier: schema) to postgres",
            ]
        }

        /// The rows of a table that refer to the owner, or to such rows by a way that passes no table twice.
        func going(_ table: Int, without visited: Set<Int> = []) -> Set<Int> {
            var found = Set(rows[table].filter(\.isOwned).map(\.id))
            for key in keys where key.from == table && !visited.contains(key.to) {
                let targets = going(key.to, without: visited.union([table]))
                found.formUnion(
                    rows[table].filter { $0.references[key.to].map(targets.contains) ?? false }.map(\.id)
                )
            }
            return found
        }
    }

    @Test func rowsAreThoseOfAllWaysHoweverTheseMeet() async throws {
        var random = SeededRandom(seed: 1)
        let graphs = (0..<8).map { Graph("graph_\($0)", isCyclic: $0 % 2 == 1, using: &random) }
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            for graph in graphs {
                try await stage.admin.withTransaction { connection in
                    for statement in graph.creating(for: person.id) { try connection.execute(statement) }
                }
            }
            let plan = try await stage.pool.withConnection { DeletionPlan(try DeletionCatalog.read(on: $0)) }
            var meetings = 0
            for graph in graphs {
                for table in Graph.tables {
                    let name = graph.name(of: table)
                    let part = try #require(plan.parts.first { $0.table == name })
                    let rows = plan.goingRows(of: part, user: person.id).selecting("id")
                    meetings += rows.text.contains("way_0") ? 1 : 0
                    let found = try await stage.pool.withConnection { try $0.query(rows, as: Int.self) }
                    #expect(Set(found) == graph.going(table), "\(name)")
                }
            }
            // Otherwise the graphs are too thin to show anything.
            #expect(meetings > 10)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            for graph in graphs where !graph.isCyclic {
                for table in Graph.tables {
                    let name = graph.name(of: table)
                    let left = try await stage.pool.withConnection { connection in
                        try connection.query("select id from \(name.quoted)", as: Int.self)
                    }
                    let all = Set(graph.rows[table].map(\.id))
                    #expect(Set(left) == all.subtracting(graph.going(table)), "\(name)")
                }
            }
        }
    }

    /// Along each way by itself, the last table would be read in eight thousand ways.
    @Test func tablesThatReferToAllBeforeThemMakeNoLongStatement() throws {
        let tables = (0..<14).map { TableName("public", "t\($0)") }
        let keys = tables.indices.flatMap { index in
            ([TableName.users] + tables.prefix(index)).map { target in
                ForeignKey(
                    name: "\(tables[index].name)_\(target.name)",
                    table: tables[index],
                    columns: ["\(target.name)_id"],
                    target: target,
                    targetColumns: ["id"],
                    rule: .cascade
                )
            }
        }
        let plan = DeletionPlan(DeletionCatalog(foreignKeys: keys))
        let part = try #require(plan.parts.last { $0.table == tables.last })
        let rows = plan.goingRows(of: part, user: UUID()).selecting("ctid")
        #expect(rows.text.utf8.count < 100_000)
    }
}
