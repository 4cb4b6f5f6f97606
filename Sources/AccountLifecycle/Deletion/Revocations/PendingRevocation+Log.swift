import Logging
import Postgres

extension PendingRevocation {
    /// Logs the result for one revocation, since nothing else reports by itself that one ended without Apple.
    ///
    /// - Parameters:
    ///   - state: its state.
    ///   - outcome: the result of the last attempt, as in the row.
    ///   - detail: details from us or from Apple, which name no person.
    ///   - due: the revocation.
    ///   - log: the logger.
    static func tell(
        _ state: PendingRevocationState,
        _ outcome: String,
        _ detail: String?,
        of due: Due,
        to log: Logger
    ) {
        var facts: Logger.Metadata = ["client_id": "\(due.clientID)", "outcome": "\(outcome)"]
        if let request = due.request { facts["request"] = "\(request.text)" }
        if let detail { facts["reason"] = "\(detail)" }
        switch state {
        case .waiting:
            log.info(
                "the credential of an erased account is not revoked at Apple yet; it will be tried again",
                metadata: facts
            )
        case .revoked:
            log.info("the credential of an erased account is revoked at Apple", metadata: facts)
        case .givenUp where outcome == personReturned:
            log.notice(
                "the credential of an erased account is left alone: the person has signed up again",
                metadata: facts
            )
        case .givenUp, .refused:
            log.warning("the credential of an erased account is given up: it was not revoked at Apple", metadata: facts)
        }
    }
}
