package import Postgres

/// Credentials that Apple did not revoke while their accounts existed, and how far revoking them has come.
package struct LateRevocations: Sendable, Hashable {
    /// How long a revocation may wait before somebody has to look.
    package static let patience = Duration.seconds(86_400)

    /// The state of a revocation, as monitoring names it.
    enum Standing: String, Sendable, CaseIterable {
        /// Still being tried.
        case waiting
        /// Apple revoked it.
        case revoked
        /// Apple did not revoke it as long as it was tried, the app has left the team, or its key was lost.
        case givenUp = "given_up"
        /// Left alone, since the person has an account again.
        case personReturned = "person_returned"
    }

    /// Revocations in the same state.
    package struct Part: Sendable, Hashable {
        /// The state as text: one that only a later release knows is not an error.
        let standing: String
        /// How many there are.
        package let count: Int
        /// How long ago the first was handed over.
        package let longest: Duration
        /// The time until the first is given up; negative once that is due.
        package let left: Duration
        /// Their client ids.
        package let clientIDs: [String]
        /// The results of their last attempts; `untried` if none was made.
        package let outcomes: [String]
    }

    private let parts: [Part]

    /// Revocations that are still being tried; nil if there are none.
    package var waiting: Part? { self[.waiting] }

    /// Revocations that ended without Apple within 90 days, and not because the person returned; nil if there are none.
    package var givenUp: Part? { self[.givenUp] }

    subscript(standing: Standing) -> Part? { parts.first { $0.standing == standing.rawValue } }

    /// Reads how many are in which state; of those that ended, the ones of the last 90 days, after which the upkeep
    /// removes them.
    ///
    /// - Throws: `PostgresError`.
    package static func read(on connection: isolated Connection) throws -> LateRevocations {
        let parts = try connection.query(
            """
            select
                case
                    when state not in (\(PendingRevocationState.givenUp.rawValue), \(PendingRevocationState.refused.rawValue))
                        then state
                    when last_outcome = \(PendingRevocation.personReturned) then \(Standing.personReturned.rawValue)
                    else \(Standing.givenUp.rawValue)
                end,
                count(*),
                extract(epoch from now() - min(created_at))::bigint,
                extract(epoch from min(give_up_at) - now())::bigint,
                array_agg(distinct client_id),
                array_agg(distinct coalesce(last_outcome, 'untried'))
            from accountctl.pending_revocations
            where settled_at is null or settled_at > now() - interval '90 days'
            group by 1
            """,
            as: (String, Int, Int64, Int64, [String], [String]).self
        )
        .map { standing, count, longest, left, clientIDs, outcomes in
            Part(
                standing: standing,
                count: count,
                longest: .seconds(longest),
                left: .seconds(left),
                clientIDs: clientIDs.sorted(),
                outcomes: outcomes.sorted()
            )
        }
        return LateRevocations(parts: parts)
    }
}
