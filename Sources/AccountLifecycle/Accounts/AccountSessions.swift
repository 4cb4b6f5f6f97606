package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The sessions of accounts and the refresh tokens that keep them alive: the one place that ends them.
///
/// Every statement uses an index that Supabase's own schema has. On a busy project the refresh tokens are the largest
/// table, and scanning it while holding a lock would hold up every sign-in.
package enum AccountSessions {
    /// How many sessions and sessionless tokens keep an account signed in.
    typealias Count = (sessions: Int, oldTokens: Int)

    /// Ends every session of an account.
    ///
    /// - Returns: How many sessions there were, and how many tokens without a session.
    /// - Throws: ``PostgresError``.
    @discardableResult
    static func end(of user: UUID, on connection: isolated Connection) throws -> Count {
        let ended = try connection.execute(endingSessions(of: user))
        return (ended, try connection.execute(deletingOldTokens(of: [user])))
    }

    /// What ``end(of:on:)`` would end.
    static func count(of user: UUID, on connection: isolated Connection) throws -> Count {
        try connection.one(
            """
            select (select count(*) from auth.sessions where user_id = \(user)),
                   (select count(*) from auth.refresh_tokens where \(isOldToken(of: [user])))
            """,
            as: (Int, Int).self
        )
    }

    /// Deletes an account's sessions; the foreign key deletes their refresh tokens.
    package static func endingSessions(of user: UUID) -> Statement {
        "delete from auth.sessions where user_id = \(user)"
    }

    /// Deletes the refresh tokens that belong to no session: very old ones.
    ///
    /// The missing session is the search condition, since no index begins with the user id, which here is text and no
    /// foreign key.
    package static func deletingOldTokens(of users: [UUID]) -> Statement {
        "delete from auth.refresh_tokens where \(isOldToken(of: users))"
    }

    private static func isOldToken(of users: [UUID]) -> Statement {
        "session_id is null and user_id = any(\(users.map(\.text)))"
    }
}
