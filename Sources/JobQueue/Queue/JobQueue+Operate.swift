package import Postgres

extension JobQueue {
    /// What became of a cancel.
    package enum CancelResult: String, Sendable, Hashable, Codable {
        /// It had not begun, and never will.
        case cancelled
        /// It runs; its handler is told to stop.
        case requested
        /// It had ended.
        case finished
        /// There is no such job.
        case unknown
    }

    /// Cancels one job.
    ///
    /// One that runs is told to stop: its worker is woken after the caller's commit. Where no reason is given, that of
    /// an earlier cancel stays.
    ///
    /// - Throws: ``PostgresError``.
    package func cancel(_ id: Int64, reason: String?, on connection: isolated Connection) throws -> CancelResult {
        let given: Statement = "coalesce(\(reason.map(Verdict.sanitized)), cancel_reason)"
        let kept: Statement = "coalesce(\(given), 'cancelled by an operator')"
        while true {
            // Either of the two waits for the row's lock and looks at it again: a job claimed meanwhile falls to the
            // second.
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
            // Both in one look: a job that moves is in one of the two tables at any moment.
            let (isUnfinished, hasEnded) = try connection.one(
                """
                select
                    exists (select from \(tables.jobs) where id = \(id)),
                    exists (select from \(tables.history) where id = \(id))
                """,
                as: (Bool, Bool).self
            )
            // It was handed back, or begun, or brought back, before it was looked for there.
            if isUnfinished { continue }
            return hasEnded ? .finished : .unknown
        }
    }

    /// Gives up one job that does not run.
    ///
    /// - Throws: ``JobQueueError``: `notFound`, `wrongState` when it runs or ended; ``PostgresError``.
    package func discard(_ id: Int64, reason: String, on connection: isolated Connection) throws {
        guard try !end(id, .discarded, reason: "\(Verdict.sanitized(reason))", on: connection) else { return }
        throw try doesNotWait(id, on: connection)
    }

    /// Why something that takes a job which waits could not be done.
    private func doesNotWait(_ id: Int64, on connection: isolated Connection) throws -> JobQueueError {
        guard let state = try show(id, on: connection)?.record.state else {
            return JobQueueError(.notFound, field: "id", "there is no job \(id)")
        }
        return JobQueueError(.wrongState, "job \(id) does not wait: it is \(state.rawValue)")
    }

    /// Moves a job that does not run to the history.
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

    /// Makes a job run again now: a waiting or parked one at once and with its attempts anew, a discarded or cancelled
    /// one by bringing it back from the history under its old id, with what its handler said about how far it was.
    ///
    /// Returns its queue, for ``wake(_:in:)`` after the commit.
    ///
    /// - Throws: ``JobQueueError``: `notFound`, `wrongState` when it runs or completed, `liveDuplicate` when its unique
    ///   key is taken by a newer job; ``PostgresError``.
    package func retry(_ id: Int64, on connection: isolated Connection) throws -> String {
        let waiting = try connection.first(
            """
            update \(tables.jobs)
            set state = 'available', parked_for = null, run_at = clock_timestamp(), attempt = 0, crashes = 0,
                exhausted_at = null, cancel_requested_at = null, cancel_reason = null
            where id = \(id)
            and state <> 'running'
            returning queue
            """,
            as: String.self
        )
        if let waiting { return waiting }
        let isTaken = JobQueueError(.liveDuplicate, "another unfinished job has the unique key of job \(id)")
        let revived: String?
        do {
            revived = try connection.first(
                """
                with gone as (
                    delete from \(tables.history)
                    where id = \(id)
                    and outcome in ('discarded', 'cancelled')
                    and not exists (
                        select
                        from \(tables.jobs) live
                        where live.unique_key = job_history.unique_key
                        or live.id = job_history.id
                    )
                    returning *
                )
                insert into \(tables.jobs) (
                    id, lease, created_at, priority, max_attempts, args_version, queue, kind, unique_key, limit_key, args,
                    progress, errors
                )
                select id, lease, created_at, priority, max_attempts, args_version, queue, kind, unique_key, limit_key,
                    args, progress, errors
                from gone
                order by lease desc
                limit 1
                returning queue
                """,
                as: String.self
            )
        } catch SQLState.uniqueViolation {
            // By a newer job that came between the look and the insertion.
            throw isTaken
        }
        if let revived { return revived }
        guard let record = try show(id, on: connection)?.record else {
            throw JobQueueError(.notFound, field: "id", "there is no job \(id)")
        }
        let state = record.state
        guard state.canBeRetried else {
            throw JobQueueError(.wrongState, "job \(id) \(state.isEnded ? "has completed" : "is running")")
        }
        if state.isEnded { throw isTaken }
        // Somebody else has just brought it back.
        return record.queue
    }

    /// Checks how long a job is to wait.
    ///
    /// - Throws: ``JobQueueError`` naming `for` when that is out of bounds.
    package static func check(wait: Duration) throws(JobQueueError) {
        try JobField.checkRange(wait, .zero...(.seconds(3650 * 86_400)), field: "for")
    }

    /// Has a job that waits wait on, for so long from now.
    ///
    /// - Throws: ``JobQueueError``: naming `for` when that is out of bounds, `notFound`, `wrongState` when it runs,
    ///   ended or is set aside for anything but room under a limit; ``PostgresError``.
    package func snooze(_ id: Int64, for wait: Duration, on connection: isolated Connection) throws {
        try Self.check(wait: wait)
        let moved = try connection.execute(
            """
            update \(tables.jobs)
            set state = 'scheduled',
                parked_for = null,
                run_at = clock_timestamp() + \(wait.seconds)::double precision * interval '1 second',
                -- For whoever follows along; it counts for no place in the line once run_at is another.
                waiting_since = clock_timestamp()
            where id = \(id)
            and (state in ('available', 'scheduled') or parked_for = 'limit')
            """
        )
        guard moved == 0 else { return }
        throw try doesNotWait(id, on: connection)
    }

    /// The ids of the jobs of a filter that ``retry(_:on:)`` takes, which are all but those that run or completed; and
    /// whether the filter has more than its limit.
    ///
    /// - Throws: ``JobQueueError`` for a filter out of form; ``PostgresError``.
    package func retryable(
        _ filter: JobFilter,
        on connection: isolated Connection
    ) throws -> (ids: [Int64], isCut: Bool) {
        let jobs = try list(filter, withOneMore: true, on: connection)
        let ids = jobs.prefix(filter.limit).filter(\.state.canBeRetried).map(\.id)
        return (ids, jobs.count > filter.limit)
    }
}
