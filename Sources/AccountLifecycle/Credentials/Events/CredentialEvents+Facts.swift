import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CredentialEvents {
    /// The facts about one Apple identity of an account, or about all of them if it is unknown which one is meant.
    ///
    /// A sub is specific to a team: a sign-in to another team's app proves nothing about this one's.
    static func facts(
        of user: UUID,
        subject: EventSubject,
        event: CredentialEvent,
        apple: AppleClients,
        on connection: isolated Connection
    ) throws -> CredentialRules.Facts {
        let isMeant = isAppleIdentity(subject)
        let known = try connection.one(
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
                    where user_id = \(user) and \(subject.isMeant(by: "apple_sub"))
                ),
                (
                    select max(greatest(obtained_at, last_live_at))
                    from accountctl.apple_credentials
                    where user_id = \(user) and \(subject.isMeant(by: "apple_sub"))
                ),
                (
                    select \(DeletionBrakes.isBegunForGood)
                    from accountctl.deletion_requests as r
                    where r.user_id = \(user) and r.finished_at is null and r.locked_out_at is not null
                ),
                exists (select from auth.identities where user_id = \(user) and \(isMeant)),
                (
                    \(hasAnotherIdentity(user, besides: isMeant))
                    or exists (select from auth.users where id = \(user) and phone_confirmed_at is not null)
                    or \(hasAddressOfItsOwn(user))
                    or \(hasSessionWithoutProvider(user))
                ),
                exists (select from auth.users where id = \(user) and encrypted_password <> '')
            """,
            into: Known.init
        )
        let clientIDs = event.kind == .grantGone ? Set([event.clientID].compactMap(\.self)) : []
        return CredentialRules.Facts(
            newestSignIn: known.newestSignIn,
            newestCredential: known.newestCredential,
            newestProofOfLife: known.newestProofOfLife,
            isOfFormerTeam: try areOfFormerTeam(clientIDs, of: user, apple: apple, on: connection),
            isBeingErased: known.isBegunForGood == true,
            isLockedOut: known.isBegunForGood == false,
            hasIdentity: known.hasIdentity,
            hasOtherWayIn: try known.hasOtherWayIn
                || known.hasPassword && !isPasswordEmpty(of: user, on: connection)
                || hasPasskey(user, on: connection)
        )
    }

    /// What one statement tells about an account, in the order of its columns.
    private struct Known {
        let newestSignIn: Date?
        let newestCredential: Date?
        let newestProofOfLife: Date?
        /// Nil unless the account is locked out.
        let isBegunForGood: Bool?
        let hasIdentity: Bool
        let hasOtherWayIn: Bool
        let hasPassword: Bool
    }

    /// Whether every token that an account has of these client ids is of the team that the app left; false for none.
    static func areOfFormerTeam(
        _ clientIDs: Set<String>,
        of user: UUID,
        apple: AppleClients,
        on connection: isolated Connection
    ) throws -> Bool {
        guard !clientIDs.isEmpty else { return false }
        let held = try connection.query(
            """
            select client_id, team_id
            from accountctl.apple_credentials
            where user_id = \(user)
              and client_id = any(\(clientIDs.sorted()))
            """,
            as: (String, String?).self
        )
        return !held.isEmpty && held.allSatisfy { clientID, teamID in apple.hasLeft(teamID, clientID) }
    }
}
