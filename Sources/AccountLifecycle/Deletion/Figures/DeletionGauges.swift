package import Metrics
package import Postgres

/// Publishes the state of all deletions, for monitoring.
///
/// Every process publishes it: if only the worker that does the housekeeping did, the values of one that did so before
/// would stay forever.
package enum DeletionGauges {
    /// Publishes how many requests there are by state, how many of these fail and how many are on legal hold, the age
    /// of the oldest open one, the time to the nearest legal deadline among those without a hold, whether everything is
    /// paused, and the state of the revocations that Apple did not accept while their accounts existed.
    ///
    /// - Throws: `PostgresError`.
    package static func publish(
        from pool: Pool,
        factory: any MetricsFactory = MetricsSystem.factory
    ) async throws {
        let (open, isPaused, late) = try await pool.withConnection { connection in
            let isPaused = try connection.one("select \(DeletionBrakes.isEverythingPaused)", as: Bool.self)
            let late = try LateRevocations.read(on: connection)
            return (try OpenRequests.byState(on: connection), isPaused, late)
        }
        for state in DeletionState.allCases where !state.isFinal {
            let requests = open.first { $0.state == state.rawValue }
            Gauge(label: "deletion_requests_open", dimensions: [("state", state.rawValue)], factory: factory)
                .record(requests?.count ?? 0)
            Gauge(label: "deletion_requests_failing", dimensions: [("state", state.rawValue)], factory: factory)
                .record(requests?.failing?.count ?? 0)
            Gauge(label: "deletion_requests_under_hold", dimensions: [("state", state.rawValue)], factory: factory)
                .record(requests?.underHold ?? 0)
        }
        let oldest = open.map(\.oldest).max() ?? .zero
        // A month if there is none.
        let left = open.compactMap(\.left).min() ?? .seconds(31 * 86_400)
        Gauge(label: "deletion_oldest_open_seconds", factory: factory).record(oldest.wholeSeconds)
        Gauge(label: "deletion_legal_deadline_seconds", factory: factory).record(left.wholeSeconds)
        Gauge(label: "deletion_paused", factory: factory).record(isPaused ? 1 : 0)
        for standing in LateRevocations.Standing.allCases {
            Gauge(label: "apple_pending_revocations", dimensions: [("state", standing.rawValue)], factory: factory)
                .record(late[standing]?.count ?? 0)
        }
        let longest = late.waiting?.longest ?? .zero
        Gauge(label: "apple_oldest_pending_revocation_seconds", factory: factory).record(longest.wholeSeconds)
    }
}
