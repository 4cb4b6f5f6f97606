import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A credential of an erased account that is still to be revoked; it names no user.
package enum PendingRevocation {
    /// What a row says whose person has an account again.
    static let personReturned = "person_returned"

    /// What became of one.
    enum Outcome: Sendable {
        case apple(AppleGateway.Revocation)
        /// The person has an account again. Revoking would end the authorisation that this account lives on, and its
        /// own erasure revokes what it holds then; of the old one is told that it was not revoked.
        case personReturned
    }

    /// What is to be done about one.
    private enum Decision: Sendable {
        /// Apple is asked to revoke this.
        case ask(Secret<String>)
        /// Apple is not asked; without an outcome, since an operator stopped it.
        case leave(Outcome?)
    }

    /// Tries those that are due, oldest try first (an hour apart, doubling up to a day), and gives up those that were
    /// tried long enough; none while every deletion is paused, and none of a request that something stops while its
    /// account may be there.
    ///
    /// `lease` throws before a call unless nobody can take the work over in the time that the call may take.
    ///
    /// - Returns: How many are still waiting.
    package static func retry(
        with services: DeletionServices,
        lease: DeletionDriver.LeaseCheck? = nil
    ) async throws -> Int {
        // Apple asked for fewer calls, does not answer, or rejects them: theirs are left as they are, for a later time.
        var resting: Set<String> = []
        for due in try await findDue(with: services) where !resting.contains(due.clientID) {
            try Task.checkCancellation()
            // In turn it is looked at anew: the line may be long.
            let outcome = try await services.apple.inTurn { try await attempt(due, with: services, lease: lease) }
            guard let outcome else { continue }
            switch outcome {
            // No try: when the client id is taken again it is their turn at once.
            case .apple(.unasked) where !due.isOver:
                resting.insert(due.clientID)
                continue
            case .apple(.trouble(let situation)) where situation.code == .appleUnreachable:
                resting.insert(due.clientID)
            case .apple, .personReturned: break
            }
            try await record(outcome, of: due, with: services)
        }
        return try await services.pool.withConnection { connection in
            try connection.one(
                "select count(*) from accountctl.pending_revocations where state = 'waiting'",
                as: Int.self
            )
        }
    }

    /// Has Apple revoke it, unless an operator stopped it, of which comes nothing, or the person has an account again.
    private static func attempt(
        _ due: Due,
        with services: DeletionServices,
        lease: DeletionDriver.LeaseCheck?
    ) async throws -> Outcome? {
        let keys = services.vault.keys
        switch try await services.pool.withTransaction({ try look(at: due, by: keys, on: $0) }) {
        case .leave(let outcome): return outcome
        case .ask(let token):
            try lease?(services.apple.longestCall)
            return .apple(try await services.apple.revoke(token, clientID: due.clientID))
        }
    }

    /// Decides with the brake of everything held until the transaction ends: whoever pauses everything comes before and
    /// is seen, or waits until it is decided.
    private static func look(at due: Due, by keys: KeyRing, on connection: isolated Connection) throws -> Decision {
        try connection.execute("select \(DeletionBrakes.holding)")
        if try connection.one("select \(isStopped("\(due.request)"))", as: Bool.self) { return .leave(nil) }
        do {
            let token = try keys.openText(due.token, for: context(binding: due.binding, clientID: due.clientID))
            let subject = try due.subject.map {
                try keys.openText($0, for: subjectContext(binding: due.binding, clientID: due.clientID)).reveal()
            }
            if let subject, try hasReturned(subject, besides: due.request, on: connection) {
                return .leave(.personReturned)
            }
            return .ask(token)
        } catch let error as SealingError {
            return .leave(.apple(.trouble(Situation(.sealingKeyMissing, detail: "\(error)"))))
        }
    }

    /// Whether an operator's word keeps the revocation of a request's credential from being made: a clone and a
    /// restored backup do not know who has come back since, and an account that is held or paused lives on.
    static func isStopped(_ request: Statement) -> Statement {
        """
        (
            \(DeletionBrakes.isEverythingPaused)
            or exists (
                select
                from accountctl.deletion_requests as r
                cross join accountctl.deletion_brakes as b
                where r.id = \(request)
                  and r.finished_at is null
                  and (\(DeletionBrakes.isPaused) or \(DeletionBrakes.isHeld) or \(DeletionBrakes.isOtherAccount))
            )
        )
        """
    }

    /// Whether somebody has an account again; the one that a request is erasing may be there still.
    private static func hasReturned(
        _ subject: String,
        besides request: UUID?,
        on connection: isolated Connection
    ) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from auth.identities as i
                where i.provider = 'apple'
                  and i.provider_id = \(subject)
                  and not exists (
                      select
                      from accountctl.deletion_requests as r
                      where r.id = \(request)
                        and r.user_id = i.user_id
                        and r.finished_at is null
                        and not \(DeletionBrakes.isOtherAccount)
                  )
            )
            """,
            as: Bool.self
        )
    }
}
