import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PendingRevocation {
    /// What a token is bound to once there is no account.
    static func context(binding: UUID, clientID: String) -> SealingContext {
        SealingContext(purpose: "apple-pending-revocation", ids: [binding.text, clientID])
    }

    /// What the sealed name of whom the token speaks for is bound to.
    static func subjectContext(binding: UUID, clientID: String) -> SealingContext {
        SealingContext(purpose: "apple-pending-subject", ids: [binding.text, clientID])
    }

    /// An insert of a token that is to be revoked without its account, once for each row of `source`.
    ///
    /// Whom it speaks for is sealed beside it: the person may sign up anew before Apple takes it.
    static func keeping(
        _ token: Secret<String>,
        clientID: String,
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
                (request_id, client_id, binding, sealed_token, sealed_subject, sealing_key_id, give_up_at)
            select
                \(request), \(clientID), \(binding), \(sealed.text), \(name.text), \(sealed.keyID.text),
                clock_timestamp() + \(services.policy.revocationGiveUp.wholeSeconds) * interval '1 second'
            from \(source)
            """
    }
}
