package import Postgres

extension JobQueue {
    /// How many jobs of each kind are parked because no worker could read their arguments, by kind.
    ///
    /// They wait indefinitely for a release that can, or for an operator, and their unique keys keep others from being
    /// added in their place. Jobs that an older release left to a newer one count only once nobody has taken them up
    /// for a while: a worker of the newer release makes them available again every half minute, with the current time
    /// as their `run_at`.
    ///
    /// - Throws: ``PostgresError``.
    package func unreadable(on connection: isolated Connection) throws -> [(kind: String, count: Int)] {
        try connection.query(
            """
            select kind, count(*)
            from \(tables.jobs)
            where state = 'parked'
            and parked_for is distinct from 'limit'
            and (
                parked_for is distinct from 'newer'
                or run_at < statement_timestamp() - \(JobFigures.Limits.oldestReady)::double precision * interval '1 second'
            )
            group by kind
            order by kind
            """,
            as: (String, Int).self
        )
        .map { (kind: $0.0, count: $0.1) }
    }
}
