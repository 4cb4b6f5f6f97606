package import Postgres

extension JobQueue {
    /// Stops claims of a queue until ``resume(queue:on:)``.
    ///
    /// Running jobs continue. The reason of a queue that is already paused stays unless another is given.
    ///
    /// - Returns: False if nothing changed.
    /// - Throws: ``JobQueueError`` for an invalid name; ``PostgresError``.
    @discardableResult
    package func pause(queue name: String, reason: String?, on connection: isolated Connection) throws -> Bool {
        try JobField.checkName(name, field: "queue")
        return try connection.execute(
            """
            insert into \(tables.queues) as q (name, paused_at, pause_reason)
            values (\(name), clock_timestamp(), \(reason.map(Verdict.sanitized)))
            on conflict (name) do update
            set paused_at = coalesce(q.paused_at, excluded.paused_at),
                pause_reason = excluded.pause_reason
            where q.paused_at is null
            or q.pause_reason is distinct from coalesce(excluded.pause_reason, q.pause_reason)
            """
        ) == 1
    }

    /// Resumes claims of a queue.
    ///
    /// Returns false if the queue was not paused.
    ///
    /// - Throws: ``JobQueueError`` for an invalid name; ``PostgresError``.
    package func resume(queue name: String, on connection: isolated Connection) throws -> Bool {
        try JobField.checkName(name, field: "queue")
        let resumed = try connection.execute(
            """
            update \(tables.queues)
            set paused_at = null, pause_reason = null
            where name = \(name)
            and paused_at is not null
            """
        )
        if resumed == 1 { try notify([name], on: connection) }
        return resumed == 1
    }

    /// Limits the claims of a queue to `limit` per `period` over all workers; nil lifts the limit.
    ///
    /// Workers learn of a new limit after the caller's commit; until then, they leave the queue alone.
    ///
    /// - Returns: False if nothing changed.
    /// - Throws: ``JobQueueError`` for an invalid field; ``PostgresError``.
    @discardableResult
    package func limitRate(
        queue name: String,
        to limit: (count: Int, period: Duration)?,
        on connection: isolated Connection
    ) throws -> Bool {
        try JobField.checkName(name, field: "queue")
        if let limit {
            try JobField.checkRange(limit.count, 1...1_000_000, field: "rate")
            try JobField.checkRange(limit.period, .seconds(1)...(.seconds(86_400)), field: "period")
        }
        let count = limit.map { Int32($0.count) }
        let changed = try connection.execute(
            """
            insert into \(tables.queues) as q (name, rate_limit, rate_period, rate_tokens)
            select \(name), \(count)::int, \(limit?.period.seconds)::double precision * interval '1 second',
                coalesce(\(count)::int, 0)
            where \(count)::int is not null
            or exists (select from \(tables.queues) where name = \(name))
            on conflict (name) do update
            set rate_limit = excluded.rate_limit,
                rate_period = excluded.rate_period,
                rate_tokens = excluded.rate_tokens,
                rate_counted_at = clock_timestamp()
            where (q.rate_limit, q.rate_period) is distinct from (excluded.rate_limit, excluded.rate_period)
            """
        )
        if changed == 1 { try notify([JobTables.beatNote], on: connection) }
        return changed == 1
    }
}
