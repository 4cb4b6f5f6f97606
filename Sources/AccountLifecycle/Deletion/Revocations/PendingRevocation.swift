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
    private enum Outcome: Sendable {
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

    private static func record(_ outcome: Outcome, of due: Due, with services: DeletionServices) async throws {
        let state: PendingRevocationState
        let words: String
        var detail: String?
        switch outcome {
        case .apple(.revoked): (state, words) = (.revoked, "revoked")
        case .apple(.trouble(let situation)), .apple(.unasked(let situation)):
            (state, words) = (due.isOver ? .givenUp : .waiting, situation.code.rawValue)
            detail = situation.detail
        case .personReturned: (state, words) = (.givenUp, personReturned)
        }
        let waits = state == .waiting
        let wasTried = if case .apple(.unasked) = outcome { false } else { true }
        let isRecorded = try await services.pool.withTransaction { connection -> Bool in
            let row = try connection.first(
                """
                update accountctl.pending_revocations
                set state = \(state.rawValue),
                    attempts = attempts + \(wasTried)::int,
                    last_tried_at = case when \(wasTried) then clock_timestamp() else last_tried_at end,
                    last_outcome = \(words),
                    settled_at = case when not \(waits) then clock_timestamp() end,
                    sealed_token = case when \(waits) then sealed_token end,
                    sealed_subject = case when \(waits) then sealed_subject end,
                    sealing_key_id = case when \(waits) then sealing_key_id end
                where id = \(due.id) and state = 'waiting'
                returning request_id
                """,
                as: UUID?.self
            )
            guard let row else { return false }
            if !waits, let request = row {
                let outcome: StepOutcome = state == .revoked ? .revoked : .notRevoked
                try AppleReckoning.settlePending(of: [request], as: outcome, on: connection)
                try tellOutcome(of: [request], on: connection)
            }
            return true
        }
        if isRecorded { tell(state, words, detail, of: due, to: services.log) }
    }

    /// Brings up to date what the persons may still ask for, for requests of which nothing is pending any more.
    static func tellOutcome(of requests: [UUID], on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.deletion_requests as r
            set apple_outcome = case
                when exists (
                    select
                    from accountctl.pending_revocations as p
                    where p.request_id = r.id and p.state in (\(PendingRevocationState.givenUp.rawValue), \(PendingRevocationState.refused.rawValue))
                ) then \(StepOutcome.notRevoked.rawValue)
                -- Counted is what no revocation ends that was handed over: of another client id, or later.
                when r.apple_counts ? \(StepOutcome.grantUnknown.rawValue) then \(StepOutcome.grantUnknown.rawValue)
                else \(StepOutcome.revoked.rawValue)
            end
            where r.id = any(\(requests))
              and r.apple_outcome = \(StepOutcome.pending.rawValue)
              and not exists (
                  select
                  from accountctl.pending_revocations as p
                  where p.request_id = r.id and p.state = 'waiting'
              )
            """
        )
        // The receipt has not said it yet.
        try connection.execute(
            """
            update accountctl.deletion_steps as s
            set outcome = r.apple_outcome,
                facts = coalesce(s.facts, '{}') || jsonb_build_object('counts', r.apple_counts)
            from accountctl.deletion_requests as r
            where r.id = any(\(requests))
              and r.finished_at is null
              and r.apple_outcome <> \(StepOutcome.pending.rawValue)
              and s.request_id = r.id
              and s.step = \(DeletionStep.revokeApple.rawValue)
              and s.outcome = \(StepOutcome.pending.rawValue)
            """
        )
    }
}
