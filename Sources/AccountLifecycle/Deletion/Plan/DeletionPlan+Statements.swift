import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionPlan {
    /// The statements that delete an account and its own profile with all that cascades, in order; the last deletes the
    /// account.
    ///
    /// The profile goes before the account, so that it does not matter how its keys are declared. Rows that go along, and
    /// refer to others which do by a key with NO ACTION, go before these: the server checks such a key as soon as what it
    /// refers to has gone, which may be before the cascade that takes the row itself, as a comment of the account goes
    /// with its post.
    ///
    /// Only those that refer to each other go in one statement: a trigger of a row that a statement deletes must not
    /// touch another row of the same, as one of a post does that deletes its comments.
    func deleting(_ user: UUID) -> [Statement] {
        let profile = profiles.map { profiles -> Statement in
            """
            delete from \(identifier: profiles.table.schema).\(identifier: profiles.table.name)
            where \(identifier: profiles.key) = \(user)
            """
        }
        var statements: [Statement] = []
        var goesLast = true
        for group in goingBeforehand {
            var deletes: [Statement] = []
            for part in group {
                if let profile, part.table == profiles?.table {
                    deletes.append(profile)
                    goesLast = false
                }
                deletes.append(rowsGoingBeforehand(of: part, user: user).deletingAll())
            }
            statements.append(Self.inOne(deletes))
        }
        if let profile, goesLast { statements.append(profile) }
        return statements + ["delete from auth.users where id = \(user)"]
    }

    /// One statement that does what some do that delete, one after another.
    private static func inOne(_ deletes: [Statement]) -> Statement {
        let last = deletes[deletes.count - 1]
        let before = deletes.dropLast().enumerated().map { index, delete -> Statement in
            "rows_\(unsafeSQL: String(index)) as (\(delete) returning 1)"
        }
        guard let first = before.first else { return last }
        let rows = before.dropFirst().reduce(first) { $0 + ", " + $1 }
        // Asked for, each is done before the last is.
        let counts = before.indices.map { "(select count(*) from rows_\($0))" }.joined(separator: " + ")
        return "with \(rows) \(last) and \(unsafeSQL: counts) >= 0"
    }

    /// Puts a table before those whose deletes take along what it refers to; tables of which none can be the next stay
    /// together.
    static func ordered(_ parts: [Part], by keys: [ForeignKey], refusing: [ForeignKey]) -> [[Part]] {
        var groups: [[Part]] = []
        var left = parts
        func isFree(_ part: Part) -> Bool {
            let going = CascadeReach(from: [part.table], by: keys)
            return !refusing.contains { key in
                key.table != part.table && going.reaches(key.target) && left.contains { $0.table == key.table }
            }
        }
        while let next = left.firstIndex(where: isFree) { groups.append([left.remove(at: next)]) }
        return left.isEmpty ? groups : groups + [left]
    }
}
