package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A refresh token that Apple issued for one account and one client id.
package struct AppleCredential: Sendable {
    let id: Int64
    let user: UUID
    let clientID: String
    /// The Apple sub for which the token was issued.
    let subject: String
    /// The team with whose key it was obtained, or last found valid; nil if that is not known.
    let teamID: String?
    let sealedToken: String
    let sealingKeyID: String
    /// Whether another account now has the identity of the token, by the sub before or after a team transfer.
    ///
    /// Revoking would then end somebody else's sign-in. An identity that was unlinked and that no other account has
    /// still counts as this account's.
    let belongsToAnother: Bool

    /// What the sealed token is bound to.
    var context: SealingContext { Self.context(user: user, clientID: clientID) }

    /// What a sealed token is bound to: the account and the client id.
    static func context(user: UUID, clientID: String) -> SealingContext {
        SealingContext(purpose: "apple-refresh-token", ids: [user.text, clientID])
    }

    /// An SQL expression: whether another account now has the identity of the token of a credential `c`.
    private static let isAnothers = isAnothers(
        anyOf: subs("c.apple_sub", of: "c.user_id", at: "c.client_id"),
        than: "c.user_id"
    )

    /// An SQL expression: the Apple subs of a token's subject, before and after a team transfer.
    private static func subs(_ subject: Statement, of user: Statement, at clientID: Statement) -> Statement {
        """
        \(subject) || array(
            select t.new_sub
            from accountctl.apple_transfers as t
            where t.user_id = \(user)
              and t.new_sub is not null
              and \(TransferBooks.concerns(clientID: clientID, sub: subject))
        )
        """
    }

    /// An SQL expression: whether another account now has one of these Apple subs.
    static func isAnothers(anyOf subs: Statement, than user: Statement) -> Statement {
        """
        exists (
            select
            from auth.identities as other
            where other.provider = 'apple'
              and other.user_id <> \(user)
              and other.provider_id = any(\(subs))
        )
        """
    }

    /// Whether another account now has the identity of this token.
    ///
    /// Asks by the token's own subject: the credential's row may be gone with its account while the person has signed up
    /// again, or belong to another account by now.
    func isAnothers(on connection: isolated Connection) throws -> Bool {
        let subs = Self.subs("\(subject)::text", of: "\(user)", at: "\(clientID)")
        return try connection.one("select \(Self.isAnothers(anyOf: subs, than: "\(user)"))", as: Bool.self)
    }

    /// Every credential of an account.
    static func all(of user: UUID, on connection: isolated Connection) throws -> [AppleCredential] {
        try connection.query(
            """
            select c.id, c.client_id, c.apple_sub, c.team_id, c.sealed_token, c.sealing_key_id, \(isAnothers)
            from accountctl.apple_credentials as c
            where c.user_id = \(user)
            order by c.id
            """,
            as: (Int64, String, String, String?, String, String, Bool).self
        ).map { id, clientID, subject, teamID, sealed, keyID, belongsToAnother in
            AppleCredential(
                id: id,
                user: user,
                clientID: clientID,
                subject: subject,
                teamID: teamID,
                sealedToken: sealed,
                sealingKeyID: keyID,
                belongsToAnother: belongsToAnother
            )
        }
    }

    /// Stores a token from Apple, replacing the one held for the same account and client id.
    ///
    /// The replaced token may belong to another Apple Account that is linked to the same account. Its grant stays
    /// valid, and an erasure, which revokes only with the token it holds, has to report that. `teamID` is the team with
    /// whose key the token was obtained.
    ///
    /// - Throws: ``PostgresError``.
    package static func store(
        _ token: Secret<String>,
        user: UUID,
        clientID: String,
        teamID: String,
        subject: String,
        keys: KeyRing,
        on connection: isolated Connection
    ) throws {
        let sealed = keys.seal(token, for: context(user: user, clientID: clientID))
        try connection.execute(
            """
            insert into accountctl.lost_grants (user_id, client_id, lost_at)
            select c.user_id, c.client_id, 'infinity'
            from accountctl.apple_credentials as c
            where c.user_id = \(user)
              and c.client_id = \(clientID)
              and c.apple_sub <> \(subject)
              -- The same person, after the app was transferred to another team.
              and not exists (
                  select
                  from accountctl.apple_transfers as t
                  where t.user_id = c.user_id
                    and t.new_sub = \(subject)
                    and \(TransferBooks.concerns(clientID: "c.client_id", sub: "c.apple_sub"))
              )
            on conflict (user_id, client_id) do update
            set lost_at = excluded.lost_at
            """
        )
        try connection.execute(
            """
            insert into accountctl.apple_credentials as c
                (user_id, client_id, team_id, apple_sub, sealed_token, sealing_key_id)
            values (\(user), \(clientID), \(teamID), \(subject), \(sealed.text), \(sealed.keyID.text))
            on conflict (user_id, client_id) do update
            set team_id = excluded.team_id,
                apple_sub = excluded.apple_sub,
                sealed_token = excluded.sealed_token,
                sealing_key_id = excluded.sealing_key_id,
                obtained_at = clock_timestamp(),
                checked_at = null,
                last_live_at = null,
                doubts = 0,
                check_after = clock_timestamp() + interval '1 day'
            """
        )
    }
}
