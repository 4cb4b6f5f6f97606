import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A credential of an erased account that is still to be revoked; it names no user.
package enum PendingRevocation {
    /// The outcome recorded in the row if the person has an account again.
    static let personReturned = "person_returned"
    /// The outcome recorded in the row of a token of the team that the app left.
    static let formerTeam = "former_team"

    /// The result for one credential.
    enum Outcome: Sendable {
        case apple(AppleGateway.Revocation)
        /// The person has an account again. Revoking would end the authorisation on which that account depends, and its
        /// own erasure will revoke what it holds then; the old credential is reported as not revoked.
        case personReturned
    }

    /// The decision about one credential.
    private enum Decision: Sendable {
        /// Apple is asked to revoke this token.
        case ask(Secret<String>)
        /// Apple is not asked; without an outcome if an operator stopped it.
        case leave(Outcome?)
    }

    /// Tries the revocations that are due, for each client id the oldest attempt first (an hour apart, doubling up to a
    /// day), and gives up those that were tried for long enough.
    ///
    /// None is tried while every deletion is paused, and none of a request that something stops while its account may
    /// exist. `lease` throws before a call unless the lease outlasts the time that the call may take.
    ///
    /// - Returns: How many are still waiting.
    package static func retry(
        with services: DeletionServices,
        lease: DeletionDriver.LeaseCheck? = nil
    ) async throws -> Int {
        // Client ids for which Apple asked for fewer calls, does not answer, or rejects calls: the rest of their
        // revocations is left for later.
        var resting: Set<String> = []
        for due in try await findDue(with: services) where !resting.contains(due.clientID) {
            try Task.checkCancellation()
            // Checked again when its turn comes, since the queue may be long.
            let outcome = try await services.apple.inTurn { try await attempt(due, with: services, lease: lease) }
            guard let outcome else { continue }
            switch outcome {
            // Not counted as an attempt, so that they are due at once when the client id is accepted again.
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

    /// Asks Apple to revoke it, unless an operator stopped it, which gives no outcome, or the person has an account
    /// again.
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
            return .apple(try await services.apple.revoke(token, clientID: due.clientID, teamID: due.teamID))
        }
    }

    /// Decides with the brake of everything held until the transaction ends: a pause of everything comes before and is
    /// seen, or waits until it is decided.
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

    /// Whether an operator's brake stops the revocation of a request's credential: a clone and a restored backup do not
    /// know who has come back since, and an account that is held or paused lives on.
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

    /// Whether the person has an account again, other than the one that the request is erasing, which may still exist.
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
