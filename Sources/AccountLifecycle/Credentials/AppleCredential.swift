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

    /// An SQL expression: whether a credential `c` is of the team that the app left, as far as can be told.
    ///
    /// A token is of the new team if it was obtained, or still valid, after Apple told the recipient about anybody. The
    /// app moved before that answer, so two more are of the new team, however old: that of a newcomer, whom the former
    /// team never named to Apple; and, until the transfer is applied, one for the new sub. A Services ID's token counts
    /// once Apple has told the new sub of its person.
    static let isOfFormerTeam: Statement = """
        exists (
            select
            from accountctl.apple_transfers as t
            join (\(TransferBooks.beginnings)) as first using (client_id, target_team)
            where t.user_id = c.user_id
              and t.transfer_identifier is not null
              and (t.new_sub is not null or t.client_id = c.client_id)
              and \(TransferBooks.concerns(clientID: "c.client_id", sub: "c.apple_sub"))
              and (t.state = \(TransferState.applied.rawValue) or t.new_sub is distinct from c.apple_sub)
              and first.told_at > greatest(c.obtained_at, c.last_live_at)
        )
        """

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

    /// Whether this token is of the team that the app left: it is dead under the new team's key.
    ///
    /// Reads all transfers, so this is asked once a token: after Apple has answered, or when its revocation is put off.
    func isOfFormerTeam(on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from accountctl.apple_credentials as c
                where c.id = \(id)
                  and c.sealed_token = \(sealedToken)
                  and \(Self.isOfFormerTeam)
            )
            """,
            as: Bool.self,
            deadline: .forAllAccounts
        )
    }

    /// Every credential of an account.
    static func all(of user: UUID, on connection: isolated Connection) throws -> [AppleCredential] {
        try connection.query(
            """
            select c.id, c.client_id, c.apple_sub, c.sealed_token, c.sealing_key_id, \(isAnothers)
            from accountctl.apple_credentials as c
            where c.user_id = \(user)
            order by c.id
            """,
            as: (Int64, String, String, String, String, Bool).self
        ).map { id, clientID, subject, sealed, keyID, belongsToAnother in
            AppleCredential(
                id: id,
                user: user,
                clientID: clientID,
                subject: subject,
                sealedToken: sealed,
                sealingKeyID: keyID,
                belongsToAnother: belongsToAnother
            )
        }
    }

    /// Stores a token from Apple, replacing the one held for the same account and client id.
    ///
    /// The replaced token may belong to another Apple Account that is linked to the same account. Its grant stays
    /// valid, and an erasure, which revokes only with the token it holds, has to report that.
    /// - Throws: ``PostgresError``.
    package static func store(
        _ token: Secret<String>,
        user: UUID,
        clientID: String,
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
                (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
            values (\(user), \(clientID), \(subject), \(sealed.text), \(sealed.keyID.text))
            on conflict (user_id, client_id) do update
            set apple_sub = excluded.apple_sub,
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
