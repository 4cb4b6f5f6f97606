package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The sessions of accounts and the refresh tokens that keep them alive: the one place that ends them.
///
/// Every statement goes by an index that Supabase's own schema has. On a busy project the tokens are the largest table there
/// is, and to walk over it under somebody's lock would hold up every sign-in.
package enum AccountSessions {
    /// Ends every session of an account.
    ///
    /// - Returns: How many there were.
    /// - Throws: ``PostgresError``.
    @discardableResult
    static func end(of user: UUID, on connection: isolated Connection) throws -> Int {
        let ended = try connection.execute(endingSessions(of: user))
        try connection.execute(deletingOldTokens(of: [user]))
        return ended
    }

    /// Deletes an account's sessions; their refresh tokens go with them.
    package static func endingSessions(of user: UUID) -> Statement {
        "delete from auth.sessions where user_id = \(user)"
    }

    /// Deletes the refresh tokens that have no session to go with: very old ones.
    ///
    /// They are found by that, since no index begins with the user id, which is text here and no key.
    package static func deletingOldTokens(of users: [UUID]) -> Statement {
        """
        delete from auth.refresh_tokens
        where session_id is null and user_id = any(\(users.map { $0.uuidString.lowercased() }))
        """
    }
}
