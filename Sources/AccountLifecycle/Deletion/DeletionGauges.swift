import Metrics
package import Postgres

/// How deletions stand as a whole, for monitoring.
///
/// Every process tells it for itself: told by whoever keeps the books, the figures of one that did so before would stand for ever.
package enum DeletionGauges {
    /// Tells how many requests there are by state, the age of the oldest open one, how near the legal deadline is, and whether
    /// everything is paused.
    ///
    /// - Throws: `PostgresError`.
    package static func publish(from pool: Pool) async throws {
        let (states, oldest, nearest, isPaused) = try await pool.withConnection { connection in
            let states = try connection.query(
                """
                select state, count(*)
                from accountctl.deletion_requests
                where finished_at is null
                group by state
                """,
                as: (String, Int).self
            )
            let (oldest, nearest) = try connection.one(
                """
                select
                    coalesce(extract(epoch from clock_timestamp() - min(requested_at))::double precision, 0),
                    coalesce(extract(epoch from min(legal_deadline) - clock_timestamp())::double precision, 2678400)
                from accountctl.deletion_requests
                where finished_at is null
                """,
                as: (Double, Double).self
            )
            let isPaused = try connection.one(
                "select exists (select from accountctl.deletion_brakes where paused_at is not null)",
                as: Bool.self
            )
            return (states, oldest, nearest, isPaused)
        }
        for state in DeletionState.allCases where !state.isFinal {
            let count = states.first { $0.0 == state.rawValue }?.1 ?? 0
            Gauge(label: "deletion_requests_open", dimensions: [("state", state.rawValue)]).record(count)
        }
        Gauge(label: "deletion_oldest_open_seconds").record(oldest)
        Gauge(label: "deletion_legal_deadline_seconds").record(nearest)
        Gauge(label: "deletion_paused").record(isPaused ? 1 : 0)
    }
}
