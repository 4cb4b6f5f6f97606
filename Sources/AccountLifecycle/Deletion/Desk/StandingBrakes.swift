import JobQueue
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The brakes that operators have put on a deletion: it does not continue whatever else is done for it, and continues
/// once they are released.
package struct StandingBrakes: Sendable, Hashable {
    /// A pause of one request or of more.
    package struct Pause: Sendable, Hashable {
        /// The operator who made the pause; nil if nobody recorded it.
        package let by: String?
        package let reason: String?
        /// Since when it stands, whatever its reason was at first; nil for a queue.
        let since: Date?
    }

    /// The queue in which deletions are driven.
    package static let queueName = DeletionJobs.delete.queue

    /// The kind of the jobs that drive deletions.
    package static let kindName = DeletionJobs.delete.name

    /// The pause of every deletion.
    package private(set) var everything: Pause?
    /// The pause of the queue of deletions.
    package let queue: Pause?
    /// Since when the request is paused individually; nil if it is not.
    package let pausedSince: Date?
    /// The operator and the reason of the request's own pause, by the latest log line; nil if it is not paused.
    package let own: Pause?
    /// Whether its account is on legal hold.
    package let isHeld: Bool

    /// Whether the request is paused individually.
    package var isPaused: Bool { pausedSince != nil }

    /// These brakes without the pause of every deletion.
    package var released: StandingBrakes {
        var rest = self
        rest.everything = nil
        return rest
    }

    /// Reads the brakes on a request, or, without one, those on all requests.
    ///
    /// - Throws: `PostgresError`.
    package static func read(of request: UUID? = nil, on connection: isolated Connection) throws -> StandingBrakes {
        let (since, by, why, isQueue, whyQueue, pausedSince, pauser, whyPaused, isHeld) = try connection.one(
            """
            select
                b.paused_at,
                b.paused_by,
                b.paused_reason,
                q.paused_at is not null,
                q.pause_reason,
                r.paused_at,
                l.operator,
                l.reason,
                \(DeletionBrakes.isHeld)
            from accountctl.deletion_brakes as b
            left join accountctl.queues as q on q.name = \(queueName)
            left join accountctl.deletion_requests as r on r.id = \(request)::uuid
            left join lateral (
                select operator, reason
                from accountctl.operator_log
                where logged_at >= r.paused_at
                  and action = 'deletion.pause'
                  and facts ->> 'request' = r.id::text
                order by id desc
                limit 1
            ) as l on true
            """,
            as: (Date?, String?, String?, Bool, String?, Date?, String?, String?, Bool).self
        )
        return StandingBrakes(
            everything: since.map { Pause(by: by, reason: why, since: $0) },
            queue: isQueue ? Pause(by: nil, reason: whyQueue, since: nil) : nil,
            pausedSince: pausedSince,
            own: pausedSince.map { Pause(by: pauser, reason: whyPaused, since: $0) },
            isHeld: isHeld
        )
    }
}
