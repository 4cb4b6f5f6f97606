package import Postgres

extension JobQueue {
    /// Makes a job run again now.
    ///
    /// A waiting or parked job becomes available at once, with its attempts reset; a discarded or cancelled one is
    /// brought back from the history under its old id, with the progress that its handler stored.
    ///
    /// Returns its queue, for ``wake(_:in:)`` after the commit.
    ///
    /// - Throws: ``JobQueueError``: `notFound`, `wrongState` if it is running or has completed, `liveDuplicate` if a
    ///   newer job has its unique key; ``PostgresError``.
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
        if let revived = try revive(id, on: connection) { return revived }
        guard let record = try show(id, on: connection)?.record else {
            throw JobQueueError(.notFound, field: "id", "there is no job \(id)")
        }
        let state = record.state
        guard state.canBeRetried else {
            throw JobQueueError(.wrongState, "job \(id) \(state.isEnded ? "has completed" : "is running")")
        }
        if state.isEnded { throw Self.keyIsTaken(id) }
        // A concurrent call has just brought it back.
        return record.queue
    }

    /// Brings a discarded or cancelled job back from the history, and returns its queue; nil if there is none, or if a
    /// newer job has its unique key.
    private func revive(_ id: Int64, on connection: isolated Connection) throws -> String? {
        do {
            return try connection.first(
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
            // A newer job took the key between the check and the insertion.
            throw Self.keyIsTaken(id)
        }
    }

    private static func keyIsTaken(_ id: Int64) -> JobQueueError {
        JobQueueError(.liveDuplicate, "another unfinished job has the unique key of job \(id)")
    }

    /// The ids of the filter's jobs that ``retry(_:on:)`` accepts, which are all but those running or completed; and
    /// whether the filter matches more than its limit.
    ///
    /// - Throws: ``JobQueueError`` for an invalid filter; ``PostgresError``.
    package func retryable(
        _ filter: JobFilter,
        on connection: isolated Connection
    ) throws -> (ids: [Int64], isCut: Bool) {
        let jobs = try list(filter, withOneMore: true, on: connection)
        let ids = jobs.prefix(filter.limit).filter(\.state.canBeRetried).map(\.id)
        return (ids, jobs.count > filter.limit)
    }
}
