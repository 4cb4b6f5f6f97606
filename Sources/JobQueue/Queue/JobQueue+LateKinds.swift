package import Postgres

/// Jobs of one queue and kind that have waited to run for long.
package struct LateKind: Sendable, Hashable {
    package let queue: String
    package let kind: String
    /// Seconds that the oldest has waited.
    package let oldest: Double
    /// The queues of the workers that are alive and know the kind, by name.
    package let servedQueues: [String]

    /// Whether a worker that is alive serves the queue and knows the kind.
    package var isKnown: Bool { servedQueues.contains(queue) }
}

extension JobQueue {
    /// What the jobs are that have waited to run for longer than so many seconds; those of paused queues count, too.
    ///
    /// The cost grows with the number of unfinished jobs.
    ///
    /// - Throws: ``PostgresError``.
    package func lateKinds(waiting limit: Double, on connection: isolated Connection) throws -> [LateKind] {
        try connection.query(
            """
            with late as (
                select queue, kind,
                    max(
                        extract(
                            epoch from clock_timestamp()
                                - case state when 'scheduled' then \(Self.readyAt) else \(Self.readySince) end
                        )
                    )::double precision as seconds
                from \(tables.jobs)
                where state = 'available'
                -- Nobody may be there to make it available.
                or (state = 'scheduled' and run_at <= clock_timestamp())
                or \(isLeftBehind)
                group by queue, kind
            )
            select late.queue, late.kind, late.seconds,
                array(
                    select distinct served.queue
                    from \(tables.workers) w
                    join \(tables.schema).worker_status s using (id)
                    cross join unnest(w.queues) as served(queue)
                    where s.status in ('alive', 'stopping')
                    and late.kind = any(w.kinds)
                    order by served.queue
                )
            from late
            where late.seconds > \(limit)
            order by late.queue, late.kind
            """,
            as: (String, String, Double, [String]).self
        )
        .map { LateKind(queue: $0.0, kind: $0.1, oldest: $0.2, servedQueues: $0.3) }
    }

    /// That a job waits for room under the limit of its kind, which no worker knows any more: nobody lets it go on.
    var isLeftBehind: Statement {
        """
        (
            state = 'parked'
            and parked_for = 'limit'
            and kind <> all(array(select unnest(w.kinds) from \(tables.workers) w where w.stopped_at is null))
        )
        """
    }
}
