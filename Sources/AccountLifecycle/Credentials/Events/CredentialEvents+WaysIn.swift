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
