import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// In which ways a person signs in.
extension CredentialEvents {
    /// The condition of the identity of Apple that a sub names; where none is known, of each of Apple.
    static func isAppleIdentity(_ subject: String?) -> Statement {
        "provider = 'apple' and provider_id = coalesce(\(subject), provider_id)"
    }

    /// Whether the account has an identity besides the one that is meant; of several that may be, it is one alone.
    static func hasAnotherIdentity(_ user: UUID, besides isMeant: Statement) -> Statement {
        """
        (
            select count(*) filter (where not (\(isMeant))) > 0
                or count(*) filter (where \(isMeant)) > 1
            from auth.identities
            where user_id = \(user)
        )
        """
    }

    /// Whether the account has a confirmed e-mail address that is no relay address, by its domain or by what Apple said.
    ///
    /// The auth server lets in whoever reads mail there, by a link or a code, and keeps neither an identity nor a
    /// password for it. A relay address goes with the Apple Account.
    static func hasAddressOfItsOwn(_ user: UUID) -> Statement {
        """
        exists (
            select
            from auth.users as u
            where u.id = \(user)
              and u.email <> ''
              and u.email_confirmed_at is not null
              and not accountctl.is_relay_address(u.email)
              and not exists (
                  select
                  from accountctl.relay_accounts as r
                  where r.user_id = u.id
                    -- Qualified, since `public.lower(varchar)` would fit better than the server's own.
                    and r.address = pg_catalog.lower(u.email)
              )
        )
        """
    }

    /// Whether the account has a session that began without a provider: by a link or a code, for one.
    ///
    /// The auth server notes `oauth` of every provider, with a token of Apple's, too; which one it was is told by the
    /// identities. What is noted besides is a second factor or goes on with a session that was there; and nobody signs
    /// in again to an anonymous account.
    static func hasSessionWithoutProvider(_ user: UUID) -> Statement {
        """
        exists (
            select
            from auth.sessions as s
            join auth.mfa_amr_claims as c on c.session_id = s.id
            where s.user_id = \(user)
              and c.authentication_method not in (
                  'oauth', 'oauth_provider/authorization_code', 'token_refresh', 'anonymous', 'totp'
              )
              and c.authentication_method not like 'mfa/%'
        )
        """
    }

    /// Whether the account has a passkey, which is a way in of its own, and no second factor.
    ///
    /// Auth servers of old know none. Where our role may not read them, there may be one: what is done otherwise cannot
    /// be undone.
    static func hasPasskey(_ user: UUID, on connection: isolated Connection) throws -> Bool {
        let isReadable = try connection.one(
            """
            select has_table_privilege(passkeys, 'select') and not row_security_active(passkeys)
            from (select to_regclass('auth.webauthn_credentials')) as t (passkeys)
            """,
            as: Bool?.self
        )
        guard let isReadable else { return false }
        guard isReadable else { return true }
        return try connection.one(
            "select exists (select from auth.webauthn_credentials where user_id = \(user))",
            as: Bool.self
        )
    }

    /// Whether the account's password is the hash of an empty one, with which nobody signs in.
    ///
    /// The auth server gave such hashes to everybody who came with Apple, until its version 2.139.2. Where the database
    /// cannot tell, it is taken for a password: what is done otherwise cannot be undone.
    static func isPasswordEmpty(of user: UUID, on connection: isolated Connection) throws -> Bool {
        let canTell = try connection.one(
            "select to_regprocedure('extensions.crypt(text, text)') is not null",
            as: Bool.self
        )
        guard canTell else { return false }
        return try connection.one(
            """
            select exists (
                select
                from auth.users
                where id = \(user)
                  -- What is no whole hash of this kind would be refused as a salt.
                  and case
                      when encrypted_password ~ '^\\$2a\\$[0-9]{2}\\$[./A-Za-z0-9]{53}$'
                          then extensions.crypt('', encrypted_password) = encrypted_password
                  end
            )
            """,
            as: Bool.self
        )
    }
}
