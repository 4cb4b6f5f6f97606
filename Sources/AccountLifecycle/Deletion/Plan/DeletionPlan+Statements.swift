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
    /// The profile goes first, so that it does not matter how its keys are declared. Where rows go along that refer to
    /// others which do by a key with NO ACTION, one statement deletes all of them: the server checks such a key as soon as
    /// what it refers to has gone, which may be before the cascade that takes the row itself, as a comment of the account
    /// goes with its post. Within it, too, the profile goes first, and what is referred to before what refers to it:
    /// triggers find what they do when rows go by cascades.
    func deleting(_ user: UUID) -> [Statement] {
        let account: Statement = "delete from auth.users where id = \(user)"
        var deletes: [Statement] = []
        if let profiles {
            deletes.append(
                """
                delete from \(identifier: profiles.table.schema).\(identifier: profiles.table.name)
                where \(identifier: profiles.key) = \(user)
                """
            )
        }
        guard !tied.isEmpty else { return deletes + [account] }
        deletes += tied.map { rowsGoingBeforehand(of: $0, user: user).deletingAll() }
        let before = deletes.enumerated().map { index, delete -> Statement in
            "rows_\(unsafeSQL: String(index)) as (\(delete) returning 1)"
        }
        let first = before.dropFirst().reduce(before[0]) { $0 + ", " + $1 }
        // Asked for, each is done before the account goes.
        let counts = before.indices.map { "(select count(*) from rows_\($0))" }.joined(separator: " + ")
        return ["with \(first) \(account) and \(unsafeSQL: counts) >= 0"]
    }
}
