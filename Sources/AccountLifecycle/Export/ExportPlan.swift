import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides which rows of which tables concern an account, by the catalog's foreign keys.
///
/// A row concerns the account if one of its keys names the account. It also does if a key refers to such a row (as an
/// order's lines do), unless another of its keys leads to somebody else: a reply to the account's post is the data of
/// whoever wrote it.
struct ExportPlan: Sendable, Hashable {
    /// Every table that may hold such rows, starting with accounts.
    let tables: [TableName]
    /// The keys by which tables are reached from accounts.
    private let keys: [TableName: [ForeignKey]]
    /// Which of the tables refer to each other, by ways that do not pass accounts.
    private let cycles: TableCycles
    /// The keys that refer to accounts, by whatever column.
    private let naming: [TableName: [ForeignKey]]
    private let profiles: DeletionCatalog.Profiles?

    init(_ catalog: DeletionCatalog) {
        profiles = catalog.profiles
        let byTarget = Dictionary(grouping: catalog.foreignKeys, by: \.target)
        var order: [TableName] = [.users] + (catalog.profiles.map { [$0.table] } ?? [])
        var known = Set(order)
        var reached: [TableName: [ForeignKey]] = [:]
        var next = 0
        while next < order.count {
            let table = order[next]
            next += 1
            for key in byTarget[table] ?? [] where key.table != table && !ExportSecrets.keepsBack(key.table) {
                reached[key.table, default: []].append(key)
                if known.insert(key.table).inserted { order.append(key.table) }
            }
        }
        tables = order
        keys = reached
        let accounts = [.users] + (catalog.profiles.map { [$0.table] } ?? [])
        cycles = TableCycles(reached.filter { !accounts.contains($0.key) })
        naming = Dictionary(grouping: catalog.foreignKeys.filter { accounts.contains($0.target) }, by: \.table)
    }

    /// A condition: the table's rows that concern the account.
    func condition(for table: TableName, user: UUID) -> Statement {
        condition(for: table, user: user, without: []) { key, visited in
            key.refers(to: SharedQueries<Rows>.writing { query(for: key, user: user, without: visited, &$0) })
        }
    }

    /// An SQL expression: whether a row that concerns the account names another account too, by a key to accounts.
    func namesOthers(_ table: TableName, than user: UUID) -> Statement {
        let keys = naming[table] ?? []
        let ids = Set(keys.filter(namesAccount).flatMap(\.columns)).sorted()
        let conditions =
            ids.map { "\(identifier: $0) <> \(user)" }
            + keys.filter { !namesAccount($0) }.map { namesAnother($0, than: user) }
        // A row that is reached by its only key names nobody else; a row of accounts is reached by no key.
        guard conditions.count > (isOfAccounts(table) ? 0 : 1) else { return "false" }
        return "coalesce(" + Self.joined(conditions, " or ") + ", false)"
    }

    /// A condition: whether a key refers to an account other than this one, which may lack the value that the key
    /// refers to.
    private func namesAnother(_ key: ForeignKey, than user: UUID) -> Statement {
        let own = key.refers(toRowsWhere: condition(for: key.target, user: user))
        return key.columns.reduce("(" + own + " is not true") { $0 + " and \(identifier: $1) is not null" } + ")"
    }

    private func isOfAccounts(_ table: TableName) -> Bool { table == .users || table == profiles?.table }

    /// Rows of a table that concern the account, by the keys to tables that were not visited before.
    private struct Rows: Hashable {
        let table: TableName
        /// Those of the visited tables to which keys may lead back.
        let visited: Set<TableName>
    }

    /// A query for the rows that concern the account, to which a key may refer.
    private func query(
        for key: ForeignKey,
        user: UUID,
        without visited: Set<TableName>,
        _ shared: inout SharedQueries<Rows>
    ) -> Statement {
        let condition = condition(for: key.target, user: user, without: visited) { onward, visited in
            let rows = Rows(table: onward.target, visited: visited.filter { cycles.join($0, onward.target) })
            return shared.rows(referringBy: onward, to: rows) {
                query(for: onward, user: user, without: visited, &$0)
            }
        }
        return key.targets(whereAny: [condition])
    }

    /// A condition: the rows of a table that concern the account, given the condition of rows that refer by a key to
    /// such rows of tables that were not visited yet.
    private func condition(
        for table: TableName,
        user: UUID,
        without visited: Set<TableName>,
        _ matches: (ForeignKey, Set<TableName>) -> Statement
    ) -> Statement {
        if table == .users { return "\(identifier: "id") = \(user)" }
        if let profiles, profiles.table == table { return "\(identifier: profiles.key) = \(user)" }
        let all = (keys[table] ?? []).filter { !visited.contains($0.target) }
        let direct = all.filter(namesAccount).map { Way($0, names($0, user)) }
        let onward = all.filter { !namesAccount($0) }.map { Way($0, matches($0, visited.union([table]))) }
        var ways = direct.map(\.isOwn)
        if let leads = Self.leads(onward) {
            ways.append("(" + Self.joined([leads] + direct.map { $0.isOwnOrUnset($0.isOwn) }, " and ") + ")")
        }
        return ways.isEmpty ? "false" : "(" + Self.joined(ways, " or ") + ")"
    }

    /// A key of a row, with the condition under which it leads to the account.
    private struct Way {
        let key: ForeignKey
        let isOwn: Statement

        init(_ key: ForeignKey, _ isOwn: Statement) {
            self.key = key
            self.isOwn = isOwn
        }

        /// A condition: the key leads to the account or is null, given the name of the column that holds `isOwn`.
        func isOwnOrUnset(_ isOwn: Statement) -> Statement {
            key.columns.reduce("(" + isOwn) { $0 + " or \(identifier: $1) is null" } + ")"
        }
    }

    /// A condition: at least one of the ways leads to the account, and none leads to somebody else; nil if there are
    /// none.
    ///
    /// Each condition appears only once, since it contains the conditions of all tables on its way: appearing twice at
    /// each step would mean a thousand times at the tenth. OFFSET 0 keeps the planner from substituting it for each use
    /// of its name.
    private static func leads(_ ways: [Way]) -> Statement? {
        guard let only = ways.first else { return nil }
        guard ways.count > 1 else { return only.isOwn }
        let named = ways.enumerated().map { ("\(identifier: "accountctl way \($0)")" as Statement, $1) }
        let values = joined(ways.map(\.isOwn), ", ")
        let names = joined(named.map(\.0), ", ")
        let one = joined(named.map(\.0), " or ")
        let noOther = joined(named.map { name, way in way.isOwnOrUnset(name) }, " and ")
        return "exists (select from (values (\(values)) offset 0) as ways (\(names)) where (\(one)) and \(noOther))"
    }

    private func namesAccount(_ key: ForeignKey) -> Bool {
        if key.columns.count != 1 { return false }
        if key.target == .users { return key.targetColumns == ["id"] }
        guard let profiles else { return false }
        return key.target == profiles.table && key.targetColumns == [profiles.key]
    }

    /// A condition: a key of one column names the account.
    private func names(_ key: ForeignKey, _ user: UUID) -> Statement { "\(identifier: key.columns[0]) = \(user)" }

    private static func joined(_ parts: [Statement], _ word: Statement) -> Statement {
        parts.dropFirst().reduce(parts[0]) { $0 + word + $1 }
    }
}
