package import Postgres

/// The open requests in one state.
package struct OpenRequests: Sendable, Hashable {
    /// How near a legal deadline is one that somebody has to look at.
    package static let urgency = Duration.seconds(5 * 86_400)

    /// The state, by its word: monitoring tells one that only a later release knows, too.
    package let state: String
    /// How many there are.
    package let count: Int
    /// How long ago the oldest request was made.
    let oldest: Duration
    /// The time until the nearest legal deadline; less than zero once it has passed.
    package let left: Duration
    /// The requests whose step fails again and again; nil where none does.
    package let failing: Failing?

    /// Requests whose step was tried several times, for a while, and fails still.
    package struct Failing: Sendable, Hashable {
        /// How many there are.
        package let count: Int
        /// How long the first has failed.
        package let longest: Duration
        /// What stands in their way.
        package let situations: [String]
    }

    /// Whether the nearest legal deadline is near.
    package var isUrgent: Bool { left < Self.urgency }

    /// The open requests of each state that has any, by state.
    package static func byState(on connection: isolated Connection) throws -> [OpenRequests] {
        let failing: Statement = "(failures >= 3 and situation_since < now() - interval '15 minutes')"
        return try connection.query(
            """
            select
                state, count(*), extract(epoch from now() - min(requested_at))::bigint,
                extract(epoch from min(legal_deadline - now()))::bigint, count(*) filter (where \(failing)),
                extract(epoch from now() - min(situation_since) filter (where \(failing)))::bigint,
                array_agg(distinct situation ->> 'code') filter (where \(failing))
            from accountctl.deletion_requests
            where finished_at is null
            group by state
            order by state
            """,
            as: (String, Int, Int64, Int64, Int, Int64?, [String]?).self
        )
        .map { state, count, oldest, left, failing, longest, situations in
            OpenRequests(
                state: state,
                count: count,
                oldest: .seconds(oldest),
                left: .seconds(left),
                failing: longest.map { Failing(count: failing, longest: .seconds($0), situations: situations ?? []) }
            )
        }
    }
}
