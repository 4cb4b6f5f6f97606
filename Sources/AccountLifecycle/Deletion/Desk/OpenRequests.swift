package import Postgres

/// The open requests in one state.
package struct OpenRequests: Sendable, Hashable {
    /// The state.
    package let state: String
    /// How many there are.
    package let count: Int
    /// Until the nearest legal deadline; less than zero once it has passed.
    package let left: Duration
    /// Whether that is within five days.
    package let isUrgent: Bool

    /// Those of each state that has any, by state.
    package static func byState(on connection: isolated Connection) throws -> [OpenRequests] {
        try connection.query(
            """
            select
                state, count(*), extract(epoch from min(legal_deadline - now()))::bigint,
                min(legal_deadline - now()) < interval '5 days'
            from accountctl.deletion_requests
            where finished_at is null
            group by state
            order by state
            """,
            as: (String, Int, Int64, Bool).self
        )
        .map { OpenRequests(state: $0, count: $1, left: .seconds($2), isUrgent: $3) }
    }
}
