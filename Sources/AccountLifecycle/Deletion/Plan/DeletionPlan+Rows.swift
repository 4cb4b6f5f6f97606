import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rows of an account.
extension DeletionPlan {
    /// The rows of a table that an account's deletion removes, to be counted.
    ///
    /// They include rows of other people that refer to rows of the account in the same table, as answers to a comment
    /// do. For rows further around a cycle, a trial shows what refuses.
    func goingRows(of part: Part, user: UUID) -> WaysToRows {
        let ways = ways(of: user, followedWithin: Set(parts.map(\.table)))
        return WaysToRows(rows: part.rows, conditions: ways.ways(to: part.table))
    }

    /// The rows of a table that an account's deletion removes before the account and its own profile.
    func rowsGoingBeforehand(of part: Part, user: UUID) -> WaysToRows {
        let ways = ways(of: user).ways(to: part.table)
        guard let own = ownRow(in: part.table, of: user) else { return WaysToRows(rows: part.rows, conditions: ways) }
        return WaysToRows(rows: part.rows, conditions: ways.map { "\($0) and not (\(own))" })
    }

    /// The rows that remain after the account is deleted if a trigger kept them unchanged, by table: those that are, or
    /// directly refer to, the account or its own profile.
    ///
    /// Rows that refer to the account through others cannot be found once these are gone.
    func rowsThatMayStay(of user: UUID) -> [(table: TableName, rows: WaysToRows)] {
        let own = ownRows(of: user)
        func naming(_ key: ForeignKey) -> Statement? {
            guard let root = own[key.target]?.key, key.targetColumns == [root.column], let column = key.columns.first
            else { return nil }
            return "\(identifier: column) = \(root.value)"
        }
        let kept = keepable.compactMap { part -> (table: TableName, rows: WaysToRows)? in
            let conditions = [own[part.table]?.condition].compactMap(\.self) + part.reachedBy.compactMap(naming)
            guard !conditions.isEmpty else { return nil }
            return (table: part.table, rows: WaysToRows(rows: part.rows, conditions: conditions))
        }
        let unchanged = keepableKeys.compactMap { key -> (table: TableName, rows: WaysToRows)? in
            guard let condition = naming(key) else { return nil }
            return (table: key.table, rows: WaysToRows(rows: key.rows, conditions: [condition]))
        }
        return kept + unchanged
    }

    /// The condition of those rows of a key's table that are gone when the server checks the key: if we may not delete
    /// them ourselves, rows that depend only on the account are still there when the profile is deleted.
    func condition(forRowsGoingWith key: ForeignKey, user: UUID) -> Statement {
        let isDeleted = goingBeforehand.joined().contains { $0.table == key.table }
        let stays = key.target == profiles?.table && !isDeleted
        let ways = ways(of: user, besidesKeysTo: stays ? .users : nil).ways(to: key.table)
        guard let first = ways.first else { return "false" }
        return ways.dropFirst().reduce("(" + first) { $0 + " or " + $1 } + ")"
    }

    /// The condition of rows that refer by a key to deleted rows.
    func rows(referringBy key: ForeignKey, user: UUID) -> Statement { ways(of: user).rows(referringBy: key) }

    /// The condition of the account's own row in a table, which is the account or its profile.
    private func ownRow(in table: TableName, of user: UUID) -> Statement? { ownRows(of: user)[table]?.condition }

    /// Unless told otherwise, self-references are followed for profiles only: the cascade deletes other rows that refer
    /// to their own table.
    private func ways(
        of user: UUID,
        followedWithin tables: Set<TableName>? = nil,
        besidesKeysTo target: TableName? = nil
    ) -> CascadeWays {
        let keys = parts.map { ($0.table, $0.reachedBy.filter { $0.target != target }) }
        return CascadeWays(
            keys: Dictionary(keys) { first, _ in first },
            cycles: cycles,
            roots: ownRows(of: user),
            followedWithin: tables ?? Set([profiles?.table].compactMap(\.self))
        )
    }

    /// The root rows: the account, and its own profile.
    private func ownRows(of user: UUID) -> [TableName: CascadeWays.Root] {
        let id: Statement = "\(user)"
        func row(_ column: String) -> CascadeWays.Root {
            CascadeWays.Root(condition: "\(identifier: column) = \(id)", key: (column: column, value: id))
        }
        var rows = [TableName.users: row("id")]
        if let profiles { rows[profiles.table] = row(profiles.key) }
        return rows
    }
}
