package import Postgres

extension JobQueue {
    /// The workers, at most a thousand: first those that have not ended, then the others, last to end first.
    ///
    /// - Throws: ``PostgresError``.
    package func workers(on connection: isolated Connection) throws -> [WorkerRecord] {
        try connection.query(
            """
            select w.id, w.name, w.version, s.status, w.started_at, w.beat_at, w.slots, w.running, w.queues, w.kinds
            from \(tables.workers) w
            join \(tables.schema).worker_status s using (id)
            order by w.stopped_at desc nulls first, w.started_at, w.id
            limit 1000
            """,
            into: WorkerRecord.init
        )
    }

    /// How many workers are alive, and how long ago any was last seen; nil if there never was one.
    ///
    /// - Throws: ``PostgresError``.
    package func presence(on connection: isolated Connection) throws -> (alive: Int, lastBeat: Duration?) {
        let (alive, seconds) = try connection.one(
            """
            select count(*) filter (where s.status in ('alive', 'stopping')), min(s.seconds_since_beat)
            from \(tables.schema).worker_status s
            join \(tables.workers) w using (id)
            -- A registration that holds one job by hand takes no other jobs.
            where cardinality(w.kinds) > 0
            """,
            as: (Int, Double?).self
        )
        return (alive, seconds.map { .seconds($0) })
    }

    /// The queues that live workers serve.
    ///
    /// - Throws: ``PostgresError``.
    package func servedQueues(on connection: isolated Connection) throws -> Set<String> {
        let names = try connection.query(
            """
            select distinct unnest(w.queues)
            from \(tables.workers) w
            join \(tables.schema).worker_status s using (id)
            where s.status in ('alive', 'stopping')
            """,
            as: String.self
        )
        return Set(names)
    }
}
