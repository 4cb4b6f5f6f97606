import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionPlan {
    /// The statements that delete rows before the account, in order: its own profile with all rows that cascade, and
    /// rows that would refuse the delete.
    ///
    /// The profile is deleted before the account, so that it does not matter how its keys are declared. Of the rows
    /// that are deleted along, some may refer to others by a key that does not cascade, such as a comment of the
    /// account to its post. They are deleted first: the server checks such a key as soon as the referenced row is gone,
    /// which may be before the cascade that deletes the referring row.
    ///
    /// Only tables that refer to each other share a statement: a trigger on a row that a statement deletes must not
    /// touch another row that it deletes. A trigger on posts that deletes their comments would.
    func deletingBeforehand(_ user: UUID) -> [Statement] {
        var statements = goingBeforehand.map { group in Self.inOne(group.flatMap { deletes(of: $0, user: user) }) }
        if let profile = deletingProfile(of: user), !goingBeforehand.joined().contains(where: isProfiles) {
            statements.append(profile)
        }
        return statements
    }

    private func isProfiles(_ part: Part) -> Bool { part.table == profiles?.table }

    /// Deletes the account's own profile.
    private func deletingProfile(of user: UUID) -> Statement? {
        profiles.map { profiles -> Statement in
            """
            delete from \(profiles.table.quoted)
            where \(identifier: profiles.key) = \(user)
            """
        }
    }

    /// Deletes those rows of a table that are deleted before others.
    private func deletes(of part: Part, user: UUID) -> [Statement] {
        let rows = rowsGoingBeforehand(of: part, user: user).deletingAll()
        guard isProfiles(part), let profile = deletingProfile(of: user) else { return rows }
        return part.reachedBy.isEmpty ? [profile] : rows + [profile]
    }

    /// Combines several deletes into one statement; keys are checked at its end, whatever their order.
    static func inOne(_ deletes: [Statement]) -> Statement {
        let last = deletes[deletes.count - 1]
        let before = deletes.dropLast().enumerated().map { index, delete -> Statement in
            "rows_\(unsafeSQL: String(index)) as (\(delete))"
        }
        guard let first = before.first else { return last }
        let rows = before.dropFirst().reduce(first) { $0 + ", " + $1 }
        return "with \(rows) \(last)"
    }

    /// Puts a table before those whose deletes cascade to rows to which it refers; tables that would all have to go
    /// before each other stay together.
    static func ordered(_ parts: [Part], by keys: [ForeignKey], refusing: [ForeignKey]) -> [[Part]] {
        // By index, since the plan is made anew every few seconds, and an app may have a hundred such tables.
        let refusers = parts.map { part -> [Int] in
            let going = CascadeReach(from: [part.table], by: keys)
            let tables = Set(refusing.filter { going.reaches($0.target) }.map(\.table))
            return parts.indices.filter { tables.contains(parts[$0].table) }
        }
        func goingNoLater(than part: Int, of left: Set<Int>) -> Set<Int> {
            var found: Set = [part]
            var new = [part]
            while let one = new.popLast() {
                new += refusers[one].filter { left.contains($0) && found.insert($0).inserted }
            }
            return found
        }
        var groups: [[Part]] = []
        var left = Set(parts.indices)
        while let next = left.sorted().map({ goingNoLater(than: $0, of: left) }).min(by: { $0.count < $1.count }) {
            groups.append(next.sorted().map { parts[$0] })
            left.subtract(next)
        }
        return groups
    }
}
