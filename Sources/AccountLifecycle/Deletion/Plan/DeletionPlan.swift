package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// How one account's rows leave the database, and what would stop that; made from the catalog's foreign keys.
///
/// Nothing here knows the app's tables: whatever hangs off `auth.users` by a cascading key, directly or onward, is deleted with
/// it; whatever refers to such rows in another way stands in the way when it has rows. The account's own profile goes first, so
/// that it does not matter how its key is declared.
package struct DeletionPlan: Sendable, Hashable {
    /// A table that loses rows, and which.
    package struct Part: Sendable, Hashable {
        package let table: TableName
        /// The keys by which rows of it are reached; empty for the roots.
        package let reachedBy: [ForeignKey]
        /// The distance from the root; children are deleted before their parents when they are many.
        package let depth: Int
        /// Whether our role may delete from it; the cascade may in any case.
        package let isDeletable: Bool
    }

    /// Every table that loses rows, roots first.
    package let parts: [Part]
    /// Keys onto these tables that do not cascade.
    package let refusing: [ForeignKey]
    /// Keys that are followed without an index.
    package let unindexed: [ForeignKey]
    /// Triggers that run on the way.
    package let triggers: [DeletionCatalog.Trigger]
    /// Triggers that run on the way, or where a key is set to NULL or a default, and may do what no rollback takes back.
    package let reachingOutside: [DeletionCatalog.Trigger]
    /// Rights that are missing.
    package let faults: [Blocker]
    package let profiles: DeletionCatalog.Profiles?

    /// Makes the plan.
    package init(_ catalog: DeletionCatalog) {
        profiles = catalog.profiles
        let ours = Set([TableName.users] + (catalog.profiles.map { [$0.table] } ?? []))
        let byTarget = Dictionary(grouping: catalog.foreignKeys, by: \.target)
        var depths: [TableName: Int] = [:]
        var reached: [TableName: [ForeignKey]] = [:]
        var order: [TableName] = []
        for root in ours.sorted() {
            depths[root] = 0
            order.append(root)
        }
        var next = 0
        while next < order.count {
            let table = order[next]
            next += 1
            for key in byTarget[table] ?? [] where key.rule == .cascade && !ours.contains(key.table) {
                reached[key.table, default: []].append(key)
                guard depths[key.table] == nil else { continue }
                depths[key.table] = (depths[table] ?? 0) + 1
                order.append(key.table)
            }
        }
        parts = order.map { table in
            Part(
                table: table,
                reachedBy: reached[table] ?? [],
                depth: depths[table] ?? 0,
                isDeletable: catalog.rights[table]?.mayDelete ?? false
            )
        }
        let lost = Set(order)
        let onward = catalog.foreignKeys.filter { lost.contains($0.target) && !ours.contains($0.table) }
        refusing = onward.filter { key in
            // A hold is looked at by itself, before each step.
            guard key.table != TableName("accountctl", "holds") else { return false }
            switch key.rule {
            case .cascade, .setDefault: return false
            case .setNull: return key.hasRequiredColumn
            case .noAction, .restrict: return true
            }
        }
        unindexed = onward.filter { !$0.isIndexed }
        triggers = catalog.triggers.filter { $0.runsOnDelete && lost.contains($0.table) }
        let changed = Set(onward.filter { $0.rule == .setNull || $0.rule == .setDefault }.map(\.table))
        reachingOutside = catalog.triggers.filter { trigger in
            trigger.reachesOutside
                && (trigger.runsOnDelete && lost.contains(trigger.table)
                    || trigger.runsOnUpdate && changed.contains(trigger.table))
        }
        faults = order.flatMap { table -> [Blocker] in
            guard let rights = catalog.rights[table] else { return [] }
            var faults: [Blocker] = []
            func fault(_ code: Situation.Code, _ detail: String) {
                faults.append(Blocker(table: table.description, name: nil, rows: nil, code: code, detail: detail))
            }
            // A cascade runs as the owner of the table; what we delete ourselves needs our own right.
            if !rights.mayRead { fault(.missingRight, "SELECT") }
            if ours.contains(table), !rights.mayDelete { fault(.missingRight, "DELETE") }
            if rights.hidesRows { fault(.hiddenRows, "row-level security applies to this role") }
            return faults
        }
    }

    /// The condition that holds of the rows of a table which an account's deletion takes along.
    ///
    /// Self-references and cycles are followed once around; what lies deeper goes by the cascade all the same.
    package func condition(for table: TableName, user: UUID) -> Statement {
        condition(for: table, user: user, without: [])
    }

    private func condition(for table: TableName, user: UUID, without visited: Set<TableName>) -> Statement {
        if table == .users { return "\(identifier: "id") = \(user)" }
        if let profiles, profiles.table == table { return "\(identifier: profiles.key) = \(user)" }
        let keys = parts.first { $0.table == table }?.reachedBy ?? []
        let ways = keys.filter { !visited.contains($0.target) && $0.target != table }.map { key in
            rows(referringBy: key, user: user, without: visited.union([table]))
        }
        guard let first = ways.first else { return "false" }
        return ways.dropFirst().reduce("(" + first) { $0 + " or " + $1 } + ")"
    }

    /// The condition of rows that refer by a key to rows which go.
    func rows(referringBy key: ForeignKey, user: UUID, without visited: Set<TableName> = []) -> Statement {
        if key.target == .users, key.targetColumns == ["id"], let column = key.columns.first {
            return "\(identifier: column) = \(user)"
        }
        return key.refers(toRowsWhere: condition(for: key.target, user: user, without: visited))
    }
}
