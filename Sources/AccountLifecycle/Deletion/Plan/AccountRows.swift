import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rows of an account, as far as they go in one short transaction.
enum AccountRows {
    /// How long a statement over an account's rows may take: keys without an index have it read whole tables.
    static let deadline = Duration.seconds(1800)

    /// Has the server allow the statements of a transaction as long as their calls do.
    ///
    /// Behind a transaction pooler the session has no limits of ours, and its own are shorter: what they end would look
    /// refused.
    static func allow(_ deadline: Duration, on connection: isolated Connection) throws {
        try connection.execute("select \(allowing(deadline))")
    }

    /// An expression that has the server allow so long a statement: a little less than the call's own time, whose end
    /// takes a cancel request over another connection.
    static func allowing(_ deadline: Duration) -> Statement {
        "set_config('statement_timeout', \("\((deadline * 0.95).wholeMilliseconds)"), true)"
    }

    /// Deletes the profile and the auth user with all that cascades; each statement has `deadline`, or the usual one.
    ///
    /// - Returns: Whether there was a user to delete.
    /// - Throws: ``DeleteSwallowed``; ``PostgresError``.
    @discardableResult
    static func delete(
        _ user: UUID,
        by plan: DeletionPlan,
        deadline: Duration? = nil,
        on connection: isolated Connection
    ) throws -> Bool {
        try connection.requireTriggers()
        // The others go with their sessions.
        try connection.execute(AccountSessions.deletingOldTokens(of: [user]))
        for statement in plan.deletingBeforehand(user) {
            try connection.execute(statement, deadline: deadline)
        }
        // A BEFORE trigger keeps a row as it is without a word: a user is not "already gone" then, and a row that a cascade
        // should have taken or changed refers to nobody.
        guard try connection.execute("delete from auth.users where id = \(user)", deadline: deadline) == 1 else {
            let isKept = try connection.one(
                "select exists (select from auth.users where id = \(user))",
                as: Bool.self
            )
            if isKept { throw DeleteSwallowed(table: .users, rows: 1) }
            return false
        }
        for (table, rows) in plan.rowsThatMayStay(of: user) {
            let count = try connection.one(
                rows.counting(upTo: BlockerSearch.countLimit),
                as: Int.self,
                deadline: deadline
            )
            if count > 0 { throw DeleteSwallowed(table: table, rows: count) }
        }
        return true
    }
}

/// A trigger kept rows as they were, without an error.
struct DeleteSwallowed: Error {
    let table: TableName
    let rows: Int
}
