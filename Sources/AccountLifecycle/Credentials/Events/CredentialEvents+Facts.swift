import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CredentialEvents {
    /// What is known about one Apple identity of an account, or about all where it is not known which is meant.
    ///
    /// A sub is one for the team: that the person came back to another team's app says nothing about this one's.
    static func facts(
        of user: UUID,
        subject: String?,
        on connection: isolated Connection
    ) throws -> CredentialRules.Facts {
        let (signIn, credential, proof, erasure, hasIdentity, hasPassword, hasOtherWayIn) = try connection.one(
            """
            select
                (
                    -- The auth server sets the first when it makes the identity, and at each sign-in the second alone.
                    select max(greatest(last_sign_in_at, updated_at))
                    from auth.identities
                    where user_id = \(user) and provider = 'apple' and provider_id = coalesce(\(subject), provider_id)
                ),
                (
                    select max(obtained_at)
                    from accountctl.apple_credentials
                    where user_id = \(user) and apple_sub = coalesce(\(subject), apple_sub)
                ),
                (
                    select max(greatest(obtained_at, last_live_at))
                    from accountctl.apple_credentials
                    where user_id = \(user) and apple_sub = coalesce(\(subject), apple_sub)
                ),
                (
                    select \(DeletionBrakes.isBegunForGood)
                    from accountctl.deletion_requests as r
                    where r.user_id = \(user) and r.finished_at is null and r.locked_out_at is not null
                ),
                exists (
                    select
                    from auth.identities
                    where user_id = \(user) and provider = 'apple' and provider_id = coalesce(\(subject), provider_id)
                ),
                exists (select from auth.users as u where u.id = \(user) and u.encrypted_password <> ''),
                exists (
                    select
                    from auth.users as u
                    where u.id = \(user)
                      and (
                          u.phone_confirmed_at is not null
                          -- It is about one of them.
                          or \(subject)::text is null and 1 < (
                              select count(*)
                              from auth.identities as i
                              where i.user_id = u.id and i.provider = 'apple'
                          )
                          or exists (
                              select
                              from auth.identities as i
                              where i.user_id = u.id
                                and not (i.provider = 'apple' and i.provider_id = coalesce(\(subject), i.provider_id))
                          )
                      )
                )
            """,
            as: (Date?, Date?, Date?, Bool?, Bool, Bool, Bool).self
        )
        return CredentialRules.Facts(
            newestSignIn: signIn,
            newestCredential: credential,
            newestProofOfLife: proof,
            isBeingErased: erasure == true,
            isLockedOut: erasure == false,
            hasIdentity: hasIdentity,
            hasOtherWayIn: try hasOtherWayIn || hasPassword && !isPasswordEmpty(of: user, on: connection)
                || hasPasskey(user, on: connection)
        )
    }

    /// Whether the account has a passkey, which is a way in of its own, and no second factor.
    ///
    /// Auth servers of old know none. Where our role may not read them, there may be one: what is done otherwise cannot
    /// be undone.
    private static func hasPasskey(_ user: UUID, on connection: isolated Connection) throws -> Bool {
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
    private static func isPasswordEmpty(of user: UUID, on connection: isolated Connection) throws -> Bool {
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
