import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Recording and reporting the result of a revocation.
extension PendingRevocation {
    /// Records the result of one revocation, and if it was the last of its request, the outcome of the request.
    static func record(_ outcome: Outcome, of due: Due, with services: DeletionServices) async throws {
        let state: PendingRevocationState
        let words: String
        var detail: String?
        switch outcome {
        case .apple(.revoked): (state, words) = (.revoked, "revoked")
        case .apple(.ofFormerTeam): (state, words) = (.givenUp, formerTeam)
        case .apple(.unknownGrant(let situation)), .apple(.trouble(let situation)), .apple(.unasked(let situation)):
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

    /// Updates the outcome at Apple of those requests that have no pending revocation any more.
    ///
    /// People can still ask for it.
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
                -- Unknown grants are counted if no handed-over revocation ends them: of another client id, or later.
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
        // The receipt does not contain the outcome yet.
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
