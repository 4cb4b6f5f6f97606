package import Postgres

/// Jobs of one queue and kind that have waited long to run.
package struct LateKind: Sendable, Hashable {
    package let queue: String
    package let kind: String
    /// How long the oldest has waited, in seconds.
    package let oldest: Double
    /// The queues of the live workers that know the kind, by name.
    package let servedQueues: [String]

    /// Whether a live worker that knows the kind serves the queue.
    package var isKnown: Bool { servedQueues.contains(queue) }
}

extension JobQueue {
    /// The queues and kinds with jobs that have waited to run for longer than so many seconds, including paused queues.
    ///
    /// The cost grows with the number of unfinished jobs.
    ///
    /// - Throws: ``PostgresError``.
    package func lateKinds(waiting limit: Double, on connection: isolated Connection) throws -> [LateKind] {
        try connection.query(
            """
            with late as (
                select queue, kind,
                    extract(
                        epoch from clock_timestamp()
                            - min(case state when 'scheduled' then \(Self.readyAt) else \(Self.readySince) end)
                    )::double precision as seconds
                from \(tables.jobs)
                where state = 'available'
                -- There may be no worker to make it available.
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

    /// The condition that a job waits for room under a limit and no worker knows its kind any more, so nobody would
    /// unpark it.
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
