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

    /// Reckons up what is recorded of a request and its account.
    ///
    /// Where `apple` is configured with one client id alone, that is the one of whatever was recorded without any.
    ///
    /// - Throws: ``PostgresError``.
    static func read(
        _ request: UUID,
        of user: UUID,
        apple: AppleGateway,
        on connection: isolated Connection
    ) throws -> AppleReckoning {
        let recorded = try Recorded.read(request, of: user, onlyClientID: apple.onlyClientID, on: connection)
        return AppleReckoning(recorded, isConfigured: apple.isConfigured)
    }

    private init(_ recorded: Recorded, isConfigured: Bool) {
        // With an account that was deleted in another way went whatever was known of its grants, where any were: one
        // that was revoked before says nothing of the others.
        let isForgotten = !recorded.isThere && isConfigured
        let unknown = isForgotten ? 1 : recorded.lasting
        var counts = recorded.counts
        counts[StepOutcome.grantUnknown.rawValue] = nil
        let outcome = Self.outcome(counts, isLost: recorded.isLost, isUnknown: unknown > 0)
        // Apple's answer to one of the codes may come yet, which is known then: to one of those that revoking ended,
        // perhaps.
        let mayBeAnswered = outcome == .grantUnknown && !isForgotten && !recorded.isOneEnded
        let left = unknown - (mayBeAnswered ? 1 : 0)
        // Once the rest is revoked, nothing else tells of it any more. Where something is not revoked for good, that is
        // told.
        if left > 0, outcome != .notRevoked { counts[StepOutcome.grantUnknown.rawValue] = left }
        self.outcome = outcome
        self.counts = counts
        isOpen = recorded.isOpen
        isRecorded = outcome == recorded.outcome && counts == recorded.counts
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
}

/// What the database holds of an account's grants at Apple.
private struct Recorded {
    /// What became of each credential that was dealt with, by outcome.
    let counts: [String: Int]
    /// What was said of all of them.
    let outcome: StepOutcome?
    /// Whether a credential is held, or a code may still become one.
    let isOpen: Bool
    /// Whether a credential was lost, and nothing has ended its grant since.
    let isLost: Bool
    /// How many codes may have become grants that nothing has ended since.
    let lasting: Int
    /// Whether a code may have become a grant that revoking has ended since.
    let isOneEnded: Bool
    /// Whether the account is there.
    let isThere: Bool

    /// Reads it, as of one moment.
    static func read(
        _ request: UUID,
        of user: UUID,
        onlyClientID: String?,
        on connection: isolated Connection
    ) throws -> Recorded {
        let (counts, outcome, isOpen, isLost, lasting, isOneEnded, isThere) = try connection.one(
            """
            select
                r.apple_counts,
                r.apple_outcome,
                \(anythingOpen(of: user)),
                \(anythingLost(of: user)),
                unknown.lasting,
                unknown.ended > 0,
                exists (select from auth.users as u where u.id = \(user))
            from accountctl.deletion_requests as r
            cross join lateral (\(unknown(of: user, onlyClientID: onlyClientID))) as unknown
            where r.id = \(request)
            """,
            as: (JSON<[String: Int]>, StepOutcome?, Bool, Bool, Int, Bool, Bool).self
        )
        return Recorded(
            counts: counts.value,
            outcome: outcome,
            isOpen: isOpen,
            isLost: isLost,
            lasting: lasting,
            isOneEnded: isOneEnded,
            isThere: isThere
        )
    }

    private static func anythingOpen(of user: UUID) -> Statement {
        """
        (
            exists (select from accountctl.apple_credentials as c where c.user_id = \(user))
            or exists (
                select
                from accountctl.authorization_codes as c
                where c.user_id = \(user) and c.code is not null
            )
        )
        """
    }

    private static func anythingLost(of user: UUID) -> Statement {
        """
        exists (
            select
            from accountctl.lost_grants as l
            where l.user_id = \(user) and \(lasts(since: "l.lost_at", clientID: "l.client_id"))
        )
        """
    }

    /// How many codes that nobody knows the end of may have become grants: such as are `lasting`, and such as have
    /// `ended`.
    private static func unknown(of user: UUID, onlyClientID: String?) -> Statement {
        """
        select count(*) filter (where u.lasts) as lasting, count(*) filter (where not u.lasts) as ended
        from (
            select \(lasts(since: "c.settled_at", clientID: "coalesce(c.client_id, \(onlyClientID))")) as lasts
            from accountctl.authorization_codes as c
            where c.user_id = \(user)
              and c.state = 'grant_unknown'
        ) as u
        """
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
}
