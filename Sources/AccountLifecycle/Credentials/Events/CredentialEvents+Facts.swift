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
        let isMeant = isAppleIdentity(subject)
        let (signIn, credential, proof, erasure, hasIdentity, hasOtherIdentity, isKnownOtherwise, hasPassword) =
            try connection.one(
                """
                select
                    (
                        -- The auth server sets the first when it makes the identity, and at each sign-in the second
                        -- alone.
                        select max(greatest(last_sign_in_at, updated_at))
                        from auth.identities
                        where user_id = \(user) and \(isMeant)
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
                    exists (select from auth.identities where user_id = \(user) and \(isMeant)),
                    \(hasAnotherIdentity(user, besides: isMeant)),
                    (
                        exists (select from auth.users where id = \(user) and phone_confirmed_at is not null)
                        or \(hasAddressOfItsOwn(user))
                        or \(hasSessionWithoutProvider(user))
                    ),
                    exists (select from auth.users where id = \(user) and encrypted_password <> '')
                """,
                as: (Date?, Date?, Date?, Bool?, Bool, Bool, Bool, Bool).self
            )
        return CredentialRules.Facts(
            newestSignIn: signIn,
            newestCredential: credential,
            newestProofOfLife: proof,
            isBeingErased: erasure == true,
            isLockedOut: erasure == false,
            hasIdentity: hasIdentity,
            hasOtherWayIn: try hasOtherIdentity || isKnownOtherwise
                || hasPassword && !isPasswordEmpty(of: user, on: connection)
                || hasPasskey(user, on: connection)
        )
    }
}
