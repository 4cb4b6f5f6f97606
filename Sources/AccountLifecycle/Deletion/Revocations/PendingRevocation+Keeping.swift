import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PendingRevocation {
    /// For how long revocation is retried after the account is gone.
    private static let giveUpAfter = Duration.seconds(30 * 86_400)

    /// The context to which a token is sealed once there is no account.
    static func context(binding: UUID, clientID: String) -> SealingContext {
        SealingContext(purpose: "apple-pending-revocation", ids: [binding.text, clientID])
    }

    /// The context to which the name of the token's person is sealed.
    static func subjectContext(binding: UUID, clientID: String) -> SealingContext {
        SealingContext(purpose: "apple-pending-subject", ids: [binding.text, clientID])
    }

    /// An INSERT of a token that is to be revoked without its account, once for each row of `source`.
    ///
    /// The person for whom it was issued is sealed beside it, since they may sign up again before Apple accepts the
    /// revocation. Its team is kept as well, since the app may have left that team, or leave it meanwhile.
    static func keeping(
        _ token: Secret<String>,
        clientID: String,
        teamID: String?,
        subject: String,
        request: UUID?,
        from source: Statement,
        with services: DeletionServices
    ) -> Statement {
        let binding = UUID()
        let sealed = services.vault.keys.seal(token, for: context(binding: binding, clientID: clientID))
        let name = services.vault.keys.seal(Secret(subject), for: subjectContext(binding: binding, clientID: clientID))
        return """
            insert into accountctl.pending_revocations
                (request_id, client_id, team_id, binding, sealed_token, sealed_subject, sealing_key_id, give_up_at)
            select
                \(request), \(clientID), \(teamID)::text, \(binding), \(sealed.text), \(name.text),
                \(sealed.keyID.text),
                clock_timestamp() + \(giveUpAfter.wholeSeconds) * interval '1 second'
            from \(source)
            """
    }
}
