import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CredentialEvents {
    /// The facts about one Apple identity of an account, or about all of them if it is unknown which one is meant.
    ///
    /// A sub is specific to a team: a sign-in to another team's app proves nothing about this one's. Without a client
    /// id, any app may be meant.
    static func facts(
        of user: UUID,
        subject: String?,
        clientID: String?,
        on connection: isolated Connection
    ) throws -> CredentialRules.Facts {
        let isMeant = isAppleIdentity(subject)
        let (signIn, credential, proof, transfer, erasure, hasIdentity, hasOther, isKnownOtherwise, hasPassword) =
            try connection.one(
                """
                select
                    (
                        -- GoTrue sets `last_sign_in_at` when it creates the identity; each later sign-in updates only
                        -- `updated_at`.
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
                        -- When the recipient asked Apple about the person, which comes after the transfer.
                        select max(updated_at)
                        from accountctl.apple_transfers
                        where user_id = \(user)
                          and (
                              new_sub is not null and client_id = coalesce(\(clientID), client_id)
                              or new_sub = \(subject)
                          )
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
                as: (Date?, Date?, Date?, Date?, Bool?, Bool, Bool, Bool, Bool).self
            )
        return CredentialRules.Facts(
            newestSignIn: signIn,
            newestCredential: credential,
            newestProofOfLife: proof,
            newestTransfer: transfer,
            isBeingErased: erasure == true,
            isLockedOut: erasure == false,
            hasIdentity: hasIdentity,
            hasOtherWayIn: try hasOther || isKnownOtherwise
                || hasPassword && !isPasswordEmpty(of: user, on: connection)
                || hasPasskey(user, on: connection)
        )
    }
}
