import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Credentials that have been dealt with, counted in their request's own row.
extension AppleReckoning {
    /// The counts of a request with one more credential of this outcome.
    static func oneMore(_ outcome: StepOutcome) -> Statement {
        """
        apple_counts || jsonb_build_object(
            \(outcome.rawValue)::text,
            coalesce((apple_counts ->> \(outcome.rawValue))::integer, 0) + 1
        )
        """
    }

    /// Counts credentials that were pending under their outcome, once for each time that a request is named.
    ///
    /// A request in progress computes its outcome from these counts once more when its account is deleted.
    static func settlePending(
        of requests: [UUID],
        as outcome: StepOutcome,
        on connection: isolated Connection
    ) throws {
        let pending = StepOutcome.pending.rawValue
        try connection.execute(
            """
            update accountctl.deletion_requests as r
            set apple_counts = case
                    when (r.apple_counts ->> \(pending))::integer > s.settled then
                        r.apple_counts
                            || jsonb_build_object(\(pending)::text, (r.apple_counts ->> \(pending))::integer - s.settled)
                    else r.apple_counts - \(pending)::text
                end || jsonb_build_object(
                    \(outcome.rawValue)::text,
                    coalesce((r.apple_counts ->> \(outcome.rawValue))::integer, 0) + s.settled
                )
            from (
                select id, count(*)::integer
                from unnest(\(requests)) as t (id)
                group by id
            ) as s (id, settled)
            where r.id = s.id
            """
        )
    }

    /// Counts a credential that was handed over to later attempts after the account was gone; grants counted as unknown
    /// stay counted.
    static func countPending(of request: UUID, on connection: isolated Connection) throws {
        let pending = StepOutcome.pending.rawValue
        try connection.execute(
            """
            update accountctl.deletion_requests
            set apple_counts = \(oneMore(.pending)),
                apple_outcome = case
                    when apple_outcome is null or apple_outcome = \(StepOutcome.notRevoked.rawValue) then apple_outcome
                    else \(pending)
                end
            where id = \(request)
            """
        )
        try connection.execute(
            """
            update accountctl.deletion_steps
            set outcome = \(pending)
            where request_id = \(request)
              and step = \(DeletionStep.revokeApple.rawValue)
              and finished_at is not null
              and outcome <> \(StepOutcome.notRevoked.rawValue)
            """
        )
    }
}
