import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ways in which a person can sign in.
extension CredentialEvents {
    /// A condition: whether an identity is one of Apple that is meant.
    static func isAppleIdentity(_ subject: EventSubject) -> Statement {
        "provider = 'apple' and \(subject.isMeant(by: "provider_id"))"
    }

    /// Whether the account has an identity besides the one that is meant; if several match, only one of them is meant.
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

    /// Whether the account has a confirmed email address that is no relay address, by its domain or by Apple's claim.
    ///
    /// GoTrue lets in whoever reads mail there, by a link or a code, and stores neither an identity nor a password for
    /// that. A relay address stops working with the Apple Account.
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
                    -- Qualified, since `public.lower(varchar)` would fit better than the server's own function.
                    and r.address = pg_catalog.lower(u.email)
              )
        )
        """
    }

    /// Whether the account has a session that began without a provider, for example by a link or a code.
    ///
    /// GoTrue records `oauth` for every provider, also for a sign-in with Apple's token; the identities show which
    /// provider it was. The other methods left out are second factors or continue an existing session, or belong to an
    /// anonymous account, to which nobody signs in again.
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

    /// Whether the account has a passkey, which is a way to sign in by itself, not a second factor.
    ///
    /// Old versions of GoTrue have none. If our role may not read passkeys, the account counts as having one, since the
    /// alternative cannot be undone.
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

    /// Whether the account's password is the hash of an empty one, with which nobody can sign in.
    ///
    /// GoTrue stored such hashes for everybody who signed up with Apple, until its version 2.139.2. If the database
    /// cannot check, the hash counts as a password, since the alternative cannot be undone.
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
                  -- `crypt` rejects as a salt whatever is not a whole hash of this kind.
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
