import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PendingRevocation {
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
    /// revocation. A token of the team that the app left is marked as one: its own age is not kept.
    static func keeping(
        _ token: Secret<String>,
        clientID: String,
        subject: String,
        request: UUID?,
        isOfFormerTeam: Bool = false,
        from source: Statement,
        with services: DeletionServices
    ) -> Statement {
        let binding = UUID()
        let sealed = services.vault.keys.seal(token, for: context(binding: binding, clientID: clientID))
        let name = services.vault.keys.seal(Secret(subject), for: subjectContext(binding: binding, clientID: clientID))
        let outcome: String? = isOfFormerTeam ? formerTeam : nil
        return """
            insert into accountctl.pending_revocations
                (request_id, client_id, binding, sealed_token, sealed_subject, sealing_key_id, last_outcome, give_up_at)
            select
                \(request), \(clientID), \(binding), \(sealed.text), \(name.text), \(sealed.keyID.text),
                \(outcome)::text,
                clock_timestamp() + \(services.policy.revocationGiveUp.wholeSeconds) * interval '1 second'
            from \(source)
            """
    }
}
