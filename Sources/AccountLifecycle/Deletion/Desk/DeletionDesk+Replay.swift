package import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionDesk {
    /// Reopens requests that a restored backup has lost; all in one transaction, with a log line for each.
    ///
    /// An account that had been erased gets a request without grace. A request that was open keeps its times, except
    /// that its grace starts over if it has ended; if somebody had stopped it, it waits for an operator, since a legal
    /// hold of the lost time is lost, too.
    ///
    /// - Parameters:
    ///   - steps: those that erase or reopen, some hundreds at a time: the transaction holds the locks of all.
    ///   - reason: why, for each request and log line.
    ///   - connection: the connection to use.
    /// - Returns: How many were opened; the other accounts have an open request by now, or are gone.
    /// - Throws: `NamedSubject`; `PostgresError`. Nothing was done then, unless the commit is in doubt. Repeating is
    ///   safe.
    package func reopen(
        _ steps: [ErasureReplay.Step],
        reason: String,
        on connection: isolated Connection
    ) async throws -> Int {
        // Ordered, so that two runs over the same accounts wait for each other instead of deadlocking.
        let steps = steps.sorted { $0.user.uuidString < $1.user.uuidString }
        return try await connection.transaction { connection in
            try refuseWords(reason, naming: steps.map(\.user), on: connection)
            let rows = try connection.query(
                """
                select w.place, r.request_id
                from unnest(\(steps.map(\.user)), \(steps.map(Self.start))::timestamptz[])
                    with ordinality as w (user_id, starts_at, place)
                join auth.users as u on u.id = w.user_id
                cross join lateral accountctl.open_deletion_request(
                    w.user_id,
                    'operator',
                    left(\(reason), 1000),
                    -- None if it was erased. An open request keeps the rest of its grace, or gets the usual one if
                    -- that is over: the person may have cancelled since.
                    case when w.starts_at is null then interval '0' when w.starts_at > now() then w.starts_at - now() end
                ) as r
                where r.opened
                order by w.place
                """,
                as: (Int64, UUID).self
            )
            let opened = rows.map { (step: steps[Int($0) - 1], request: $1) }
            try keepTimes(opened.filter { $0.step.act == .reopen }, on: connection)
            try logRequests(
                opened.map { (user: $0.step.user, request: $0.request, replayed: $0.step.listed.request) },
                reason: reason,
                on: connection
            )
            return opened.count
        }
    }

    /// When a request is to run; nil for at once.
    private static func start(of step: ErasureReplay.Step) -> Date? {
        step.act == .erase ? nil : step.listed.runAfter
    }

    /// Restores the times of reopened requests: the month that the law gives began when the person asked.
    private func keepTimes(
        _ opened: [(step: ErasureReplay.Step, request: UUID)],
        on connection: isolated Connection
    ) throws {
        let listed = opened.map(\.step.listed)
        try connection.execute(
            """
            update accountctl.deletion_requests as r
            set requested_at = greatest(w.requested_at, u.created_at),
                legal_deadline = w.legal_deadline,
                paused_at = case when w.paused or (w.held and not \(DeletionBrakes.isHeld)) then clock_timestamp() end
            from unnest(
                \(opened.map(\.request)), \(listed.map(\.requestedAt)), \(listed.map(\.legalDeadline)),
                \(listed.map(\.isPaused)), \(listed.map(\.isHeld))
            ) as w (request, requested_at, legal_deadline, paused, held),
                auth.users as u
            where r.id = w.request and u.id = r.user_id
            """
        )
    }
}
