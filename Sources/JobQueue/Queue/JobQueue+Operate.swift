package import Postgres

extension JobQueue {
    /// The result of a cancel.
    package enum CancelResult: String, Sendable, Hashable, Codable {
        /// The job was not running, and never will run.
        case cancelled
        /// The job is running; its handler is told to stop.
        case requested
        /// The job had already ended.
        case finished
        /// There is no such job.
        case unknown
    }

    /// Cancels one job.
    ///
    /// A running job is told to stop: its worker is notified after the caller's commit. Without a reason, that of an
    /// earlier cancel stays.
    ///
    /// - Throws: ``PostgresError``.
    package func cancel(_ id: Int64, reason: String?, on connection: isolated Connection) throws -> CancelResult {
        let given: Statement = "coalesce(\(reason.map(Verdict.sanitized)), cancel_reason)"
        let kept: Statement = "coalesce(\(given), 'cancelled by an operator')"
        while true {
            // Each of the two statements waits for the row lock and checks the row again: a job claimed meanwhile falls
            // to the second.
            if try end(id, .cancelled, reason: kept, on: connection) { return .cancelled }
            let asked = try connection.execute(
                """
                update \(tables.jobs)
                set cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()),
                    cancel_reason = \(given)
                where id = \(id)
                and state = 'running'
                """
            )
            if asked == 1 {
                try notify([JobTables.beatNote], on: connection)
                return .requested
            }
            // Both in one snapshot: a job that moves is in one of the two tables at any moment.
            let (isUnfinished, hasEnded) = try connection.one(
                """
                select
                    exists (select from \(tables.jobs) where id = \(id)),
                    exists (select from \(tables.history) where id = \(id))
                """,
                as: (Bool, Bool).self
            )
            // It was handed back, claimed or brought back between the two statements and this check.
            if isUnfinished { continue }
            return hasEnded ? .finished : .unknown
        }
    }

    /// Discards one job that is not running.
    ///
    /// - Throws: ``JobQueueError``: `notFound`, `wrongState` if it is running or has ended; ``PostgresError``.
    package func discard(_ id: Int64, reason: String, on connection: isolated Connection) throws {
        guard try !end(id, .discarded, reason: "\(Verdict.sanitized(reason))", on: connection) else { return }
        throw try doesNotWait(id, on: connection)
    }

    /// The error for an operation that requires a waiting job.
    private func doesNotWait(_ id: Int64, on connection: isolated Connection) throws -> JobQueueError {
        guard let state = try show(id, on: connection)?.record.state else {
            return JobQueueError(.notFound, field: "id", "there is no job \(id)")
        }
        return JobQueueError(.wrongState, "job \(id) is not waiting: it is \(state.rawValue)")
    }

    /// Moves a job that is not running to the history.
    private func end(
        _ id: Int64,
        _ outcome: Ending.Outcome,
        reason: Statement,
        on connection: isolated Connection
    ) throws -> Bool {
        try connection.execute(
            """
            with ended as (
                delete from \(tables.jobs)
                where id = \(id)
                and state <> 'running'
                returning *
            )
            \(intoHistory(outcome, reason: reason))
            """
        ) == 1
    }

    /// Checks how long a job is to wait.
    ///
    /// - Throws: ``JobQueueError`` naming `for` if that is out of bounds.
    package static func check(wait: Duration) throws(JobQueueError) {
        try JobField.checkRange(wait, .zero...(.seconds(3650 * 86_400)), field: "for")
    }

    /// Makes a waiting job wait for so long from now.
    ///
    /// - Throws: ``JobQueueError``: naming `for` if that is out of bounds, `notFound`, `wrongState` if the job is
    ///   running, has ended or is parked for anything but room under a limit; ``PostgresError``.
    package func snooze(_ id: Int64, for wait: Duration, on connection: isolated Connection) throws {
        guard try snooze([id], for: wait, on: connection) == 0 else { return }
        throw try doesNotWait(id, on: connection)
    }

    /// Makes those of some jobs that wait do so for so long from now, in one statement.
    ///
    /// - Returns: How many.
    /// - Throws: ``JobQueueError`` naming `for` if the time is out of bounds; ``PostgresError``.
    @discardableResult
    package func snooze(_ ids: [Int64], for wait: Duration, on connection: isolated Connection) throws -> Int {
        try Self.check(wait: wait)
        return try connection.execute(
            """
            update \(tables.jobs)
            set state = 'scheduled',
                parked_for = null,
                run_at = clock_timestamp() + \(wait.seconds)::double precision * interval '1 second',
                -- For clients that follow changes; it does not affect the order once `run_at` differs.
                waiting_since = clock_timestamp()
            where id = any(\(ids)::bigint[])
            and (state in ('available', 'scheduled') or parked_for = 'limit')
            """
        )
    }
}
