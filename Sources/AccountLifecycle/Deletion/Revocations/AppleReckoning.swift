import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The outcome of an account's grants at Apple, by everything that is recorded about them.
///
/// Recorded when revoking ends, and checked once more under the lock under which the account is deleted: as long as the
/// account exists a code may arrive, and its exchange may give one more credential.
struct AppleReckoning: Sendable {
    /// The outcome for all grants together; the worst one counts.
    let outcome: StepOutcome
    /// The number of credentials by outcome.
    let counts: [String: Int]
    /// Whether a credential is held, or a code may still become one, so that revoking has more to deal with.
    let isOpen: Bool
    /// Whether the request already records this outcome and these counts, from which later outcomes are computed.
    let isRecorded: Bool

    /// Computes the outcome from what is recorded about a request and its account.
    ///
    /// If `apple` is configured with one client id only, that is the one of whatever was recorded without any.
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
        // If the account was deleted by other means, whatever was known about its grants is gone with it: an earlier
        // revocation says nothing about other grants.
        let isForgotten = !recorded.isThere && isConfigured
        let unknown = isForgotten ? 1 : recorded.lasting
        var counts = recorded.counts.value
        counts[StepOutcome.grantUnknown.rawValue] = nil
        let outcome = Self.outcome(counts, isLost: recorded.isLost, isUnknown: unknown > 0)
        // Apple may still answer for one of the codes, whose result is then known; if a revocation has ended some of
        // them, the answer may be for one of those.
        let mayBeAnswered = outcome == .grantUnknown && !isForgotten && !recorded.isOneEnded
        let left = unknown - (mayBeAnswered ? 1 : 0)
        // Once the rest is revoked, only this count still records the unknown grants. If something is not revoked for
        // good, that is reported instead.
        if left > 0, outcome != .notRevoked { counts[StepOutcome.grantUnknown.rawValue] = left }
        self.outcome = outcome
        self.counts = counts
        isOpen = recorded.isOpen
        isRecorded = outcome == recorded.outcome && counts == recorded.counts.value
    }

    /// The outcome by the counts.
    ///
    /// A revocation ends the person's whole authorisation for its client id, including what was lost or unknown about
    /// it until then; an authorisation that came later remains.
    private static func outcome(_ counts: [String: Int], isLost: Bool, isUnknown: Bool) -> StepOutcome {
        func has(_ outcome: StepOutcome) -> Bool { counts[outcome.rawValue] != nil }
        if has(.notRevoked) || isLost { return .notRevoked }
        if has(.pending) { return .pending }
        if isUnknown { return .grantUnknown }
        return has(.revoked) ? .revoked : .notHeld
    }
}

/// The database's records of an account's grants at Apple, in the order of the columns that are read.
private struct Recorded {
    /// The number of credentials dealt with, by outcome.
    let counts: JSON<[String: Int]>
    /// The outcome recorded for all of them.
    let outcome: StepOutcome?
    /// Whether a credential is held, or a code may still become one.
    let isOpen: Bool
    /// Whether a credential was lost whose grant no revocation has ended since.
    let isLost: Bool
    /// How many codes may have become grants that no revocation has ended since.
    let lasting: Int
    /// Whether a code may have become a grant that a revocation has ended since.
    let isOneEnded: Bool
    /// Whether the account exists.
    let isThere: Bool

    /// Reads everything as of one moment.
    static func read(
        _ request: UUID,
        of user: UUID,
        onlyClientID: String?,
        on connection: isolated Connection
    ) throws -> Recorded {
        try connection.one(
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
            into: Recorded.init
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

    /// Counts the codes whose result is unknown and that may have become grants: in `lasting` those that no revocation
    /// has ended, in `ended` the others.
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

    /// Whether a grant obtained from Apple under a client id by a moment still has to be reported as not revoked.
    ///
    /// A revocation handed over since then ends it once Apple accepts it; if that is given up, it is itself reported as
    /// not revoked.
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

    /// When Apple last accepted a revocation under a client id; the beginning of time if it never did.
    ///
    /// A revocation ends the person's authorisation of that app and its group: only Apple's portal shows which other
    /// apps are in the group. For a request whose revocation was recorded without the client id, only the moment is
    /// known.
    private static func revoked(_ clientID: Statement) -> Statement {
        """
        coalesce(
            case when r.apple_revoked = '{}' then r.apple_revoked_at else (r.apple_revoked ->> \(clientID))::timestamptz end,
            '-infinity'
        )
        """
    }
}
