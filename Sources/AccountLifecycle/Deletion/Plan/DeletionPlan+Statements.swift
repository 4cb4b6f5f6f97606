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
    /// refer to others which do by a key with NO ACTION, go before both, in one statement: the server checks such a key
    /// as soon as what it refers to has gone, which may be before the cascade that takes the row itself, as a comment of
    /// the account goes with its post.
    ///
    /// The profile is in that statement only where it refuses or changes with what goes by it. A trigger of a row that a
    /// statement deletes must not touch another row of the same statement: as one of a comment that counts them in the
    /// profile, or one of the profile that deletes comments itself.
    func deleting(_ user: UUID) -> [Statement] {
        var together = tied.map { rowsGoingBeforehand(of: $0, user: user).deletingAll() }
        var others: [Statement] = ["delete from auth.users where id = \(user)"]
        if let profiles {
            let profile: Statement = """
                delete from \(identifier: profiles.table.schema).\(identifier: profiles.table.name)
                where \(identifier: profiles.key) = \(user)
                """
            if profileRefers, !together.isEmpty {
                together.insert(profile, at: 0)
            } else {
                others.insert(profile, at: 0)
            }
        }
        return together.isEmpty ? others : [Self.inOne(together)] + others
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
}
