package import Postgres

/// The open requests in one state.
package struct OpenRequests: Sendable, Hashable {
    /// How near a legal deadline is one that somebody has to look at.
    package static let urgency = Duration.seconds(5 * 86_400)

    /// The state, by its word: monitoring tells one that only a later release knows, too.
    package let state: String
    /// How many there are.
    package let count: Int
    /// How long ago the oldest was made.
    package let oldest: Duration
    /// Until the nearest legal deadline; less than zero once it has passed.
    package let left: Duration

    /// Whether the nearest legal deadline is near.
    package var isUrgent: Bool { left < Self.urgency }

    /// Those of each state that has any, by state.
    package static func byState(on connection: isolated Connection) throws -> [OpenRequests] {
        try connection.query(
            """
            select
                state, count(*), extract(epoch from now() - min(requested_at))::bigint,
                extract(epoch from min(legal_deadline - now()))::bigint
            from accountctl.deletion_requests
            where finished_at is null
            group by state
            order by state
            """,
            as: (String, Int, Int64, Int64).self
        )
        .map { OpenRequests(state: $0, count: $1, oldest: .seconds($2), left: .seconds($3)) }
    }
}
