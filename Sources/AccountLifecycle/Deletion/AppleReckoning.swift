import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What became of an account's grants at Apple, by everything that is recorded about them.
///
/// Said when revoking ends, and looked at once more under the lock under which the account goes: as long as the account
/// is there a code may come in, and its exchange may give one more credential.
struct AppleReckoning: Sendable {
    /// What became of it all, the worst first.
    let outcome: StepOutcome
    /// What became of each credential, by outcome.
    let counts: [String: Int]
    /// Whether something is held, or on its way, that revoking has to deal with.
    let isOpen: Bool
    /// Whether the request says so already, and of as many: a later answer is reckoned by these numbers.
    let isRecorded: Bool

    /// Reckons up what is recorded.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - user: Its account.
    ///   - apple: Whose client ids are configured; the only one is that of whatever was recorded without one.
    ///   - connection: The database.
    /// - Returns: What became of it all.
    /// - Throws: ``PostgresError``.
    static func read(
        _ request: UUID,
        of user: UUID,
        apple: AppleGateway,
        on connection: isolated Connection
    ) throws -> AppleReckoning {
        let (credentials, recorded, isOpen, isLost, lasting, isOneEnded, isThere) = try connection.one(
            """
            select
                r.apple_counts,
                r.apple_outcome,
                exists (select from accountctl.apple_credentials as c where c.user_id = \(user))
                or exists (
                    select
                    from accountctl.authorization_codes as c
                    where c.user_id = \(user) and c.code is not null
                ),
                exists (
                    select
                    from accountctl.lost_grants as l
                    where l.user_id = \(user) and \(lasts(since: "l.lost_at", clientID: "l.client_id"))
                ),
                unknown.lasting,
                unknown.ended > 0,
                exists (select from auth.users as u where u.id = \(user))
            from accountctl.deletion_requests as r
            cross join lateral (
                select count(*) filter (where u.lasts) as lasting, count(*) filter (where not u.lasts) as ended
                from (
                    select \(lasts(since: "c.settled_at", clientID: "coalesce(c.client_id, \(apple.onlyClientID))")) as lasts
                    from accountctl.authorization_codes as c
                    where c.user_id = \(user)
                      and c.state = 'grant_unknown'
                ) as u
            ) as unknown
            where r.id = \(request)
            """,
            as: (JSON<[String: Int]>, StepOutcome?, Bool, Bool, Int, Bool, Bool).self
        )
        // With an account that was deleted in another way went whatever was known of its grants, where any were: one
        // that was revoked before says nothing of the others.
        let isForgotten = !isThere && apple.isConfigured
        let unknown = isForgotten ? 1 : lasting
        var counts = credentials.value
        counts[StepOutcome.grantUnknown.rawValue] = nil
        let outcome = outcome(counts, isLost: isLost, isUnknown: unknown > 0)
        // Apple's answer to one of the codes may come yet, which is known then: to one of those that revoking ended,
        // perhaps.
        let mayBeAnswered = outcome == .grantUnknown && !isForgotten && !isOneEnded
        let left = unknown - (mayBeAnswered ? 1 : 0)
        // Once the rest is revoked, nothing else tells of it any more. Where something is not revoked for good, that is
        // told.
        if left > 0, outcome != .notRevoked { counts[StepOutcome.grantUnknown.rawValue] = left }
        return AppleReckoning(
            outcome: outcome,
            counts: counts,
            isOpen: isOpen,
            isRecorded: outcome == recorded && counts == credentials.value
        )
    }

    /// Whether what was got of Apple under a client id by a moment is still to be told as not revoked.
    ///
    /// A revocation that was handed over since ends it when Apple takes it. Given up, it is told as not revoked itself.
    private static func lasts(since moment: Statement, clientID: Statement) -> Statement {
        """
        (
            \(moment) >= \(revoked(clientID))
            and not exists (
                select
                from accountctl.pending_revocations as p
                where p.request_id = r.id
                  and p.client_id = \(clientID)
                  and p.created_at >= \(moment)
                  and p.state in (\(PendingRevocationState.waiting.rawValue), \(PendingRevocationState.revoked.rawValue))
            )
        )
        """
    }

    /// When Apple was last asked with success to revoke under a client id; the beginning of time where it was not.
    ///
    /// It ends the person's authorisation of that app and its group: which others are in the group stands in Apple's
    /// portal alone. Of a request whose revoking was recorded without the client id nothing better is known than the
    /// moment.
    private static func revoked(_ clientID: Statement) -> Statement {
        """
        coalesce(
            case when r.apple_revoked = '{}' then r.apple_revoked_at else (r.apple_revoked ->> \(clientID))::timestamptz end,
            '-infinity'
        )
        """
    }

    /// A revoked credential ends the whole authorisation of the person for its client id, whatever was lost or unknown
    /// of it until then; what came later lives on.
    private static func outcome(_ counts: [String: Int], isLost: Bool, isUnknown: Bool) -> StepOutcome {
        func has(_ outcome: StepOutcome) -> Bool { counts[outcome.rawValue] != nil }
        if has(.notRevoked) || isLost { return .notRevoked }
        if has(.pending) { return .pending }
        if isUnknown { return .grantUnknown }
        return has(.revoked) ? .revoked : .notHeld
    }

    /// The counts of a request with one credential more of which this became.
    static func oneMore(_ outcome: StepOutcome) -> Statement {
        """
        apple_counts || jsonb_build_object(
            \(outcome.rawValue)::text,
            coalesce((apple_counts ->> \(outcome.rawValue))::integer, 0) + 1
        )
        """
    }

    /// Counts credentials that were pending by what became of them: of a request for each time that it is named.
    ///
    /// A request that is under way reckons by these counts once more when its account goes.
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

    /// Counts a credential that was handed over to later attempts after the account was gone; what is counted as unknown
    /// besides it stays so.
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
