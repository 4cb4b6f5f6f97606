import Foundation
import Postgres
import TestSupport

@testable import AccountLifecycle

/// Tables of a schema that refer to accounts and, by keys at random, to each other.
struct TableGraph: Sendable {
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

    private init(_ schema: String, isCyclic: Bool, using random: inout SeededRandom) {
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

    /// Creates eight graphs with rows of an account, every other with cycles.
    static func createSome(for owner: UUID, on stage: Stage) async throws -> [TableGraph] {
        var random = SeededRandom(seed: 1)
        let graphs = (0..<8).map { TableGraph("graph_\($0)", isCyclic: $0 % 2 == 1, using: &random) }
        for graph in graphs {
            try await stage.admin.withTransaction { connection in
                for statement in graph.creating(for: owner) { try connection.execute(statement) }
            }
        }
        return graphs
    }

    func name(of table: Int) -> TableName { TableName(schema, "t\(table)") }

    /// Statements that create the tables with their rows and keys.
    private func creating(for owner: UUID) -> [Statement] {
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

    /// The rows of a table that concern the owner: those that refer to it, or that refer to such rows and to no others,
    /// of tables that were not visited yet.
    func concerning(_ table: Int, without visited: Set<Int> = []) -> Set<Int> {
        let targets = keys.filter { $0.from == table && !visited.contains($0.to) }.map { key in
            (table: key.to, rows: concerning(key.to, without: visited.union([table])))
        }
        let found = rows[table].filter { row in
            let leads = targets.compactMap { target in row.references[target.table].map(target.rows.contains) }
            return row.isOwned || leads.contains(true) && !leads.contains(false)
        }
        return Set(found.map(\.id))
    }
}
