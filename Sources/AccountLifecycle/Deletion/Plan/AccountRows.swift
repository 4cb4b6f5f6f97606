import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Deletes those rows of an account that go in one short transaction.
enum AccountRows {
    /// How long a statement over an account's rows may take: foreign keys without an index make it read whole tables.
    static let deadline = Duration.seconds(1800)

    /// Sets the server's time limit for the statements of a transaction to that of their calls.
    ///
    /// Behind a transaction pooler, the session has none of our limits, and its own are shorter: a statement that they
    /// end would look refused.
    static func allow(_ deadline: Duration, on connection: isolated Connection) throws {
        try connection.execute("select \(allowing(deadline))")
    }

    /// An expression that sets the server's time limit to a little less than the call's deadline: past that deadline,
    /// the statement has to be ended by a cancel request over another connection.
    static func allowing(_ deadline: Duration) -> Statement {
        "set_config('statement_timeout', \("\((deadline * 0.95).wholeMilliseconds)"), true)"
    }

    /// Deletes the profile and the auth user, with all rows that cascade; each statement has `deadline`, or, if that is
    /// nil, the usual one.
    ///
    /// - Returns: Whether there was a user to delete.
    /// - Throws: ``PlanOvertaken``; ``DeleteSwallowed``; ``PostgresError``.
    @discardableResult
    static func delete(
        _ user: UUID,
        by plan: DeletionPlan,
        deadline: Duration?,
        on connection: isolated Connection
    ) throws -> Bool {
        try plan.requireKeys(to: plan.goingBeforehand.joined().map(\.table), on: connection)
        // All other tokens are deleted with their sessions.
        try connection.execute(AccountSessions.deletingOldTokens(of: [user]))
        for statement in plan.deletingBeforehand(user) {
            try connection.execute(statement, deadline: deadline)
        }
        // A BEFORE trigger can keep a row unchanged without an error: the user is then not "already gone", and a row
        // that a cascade should have deleted or changed refers to nobody.
        guard try connection.execute("delete from auth.users where id = \(user)", deadline: deadline) == 1 else {
            let isKept = try connection.one(
                "select exists (select from auth.users where id = \(user))",
                as: Bool.self
            )
            if isKept { throw DeleteSwallowed(table: .users, rows: 1) }
            return false
        }
        for (table, rows) in plan.rowsThatMayStay(of: user) {
            let count = try rows.count(upTo: BlockerSearch.countLimit, deadline: deadline, on: connection)
            if count > 0 { throw DeleteSwallowed(table: table, rows: count) }
        }
        return true
    }
}

/// A trigger kept rows unchanged, without an error.
struct DeleteSwallowed: Error {
    let table: TableName
    let rows: Int
}
