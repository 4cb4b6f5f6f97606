package import Postgres

extension JobQueue {
    /// How many jobs of each kind workers discarded in the last day, by kind.
    ///
    /// A job whose unique key another job has completed since does not count: its work is done.
    ///
    /// - Throws: ``PostgresError``.
    package func discarded(on connection: isolated Connection) throws -> [(kind: String, count: Int)] {
        try connection.query(
            """
            select kind, count(*)
            from (
                select distinct on (coalesce(unique_key, id::text)) kind, outcome, worker
                from \(tables.history)
                where finished_at > statement_timestamp() - interval '1 day'
                order by coalesce(unique_key, id::text), finished_at desc
            ) as latest
            where outcome = 'discarded'
            -- What an operator discarded was held by no worker.
            and worker is not null
            group by kind
            order by kind
            """,
            as: (String, Int).self
        )
        .map { (kind: $0.0, count: $0.1) }
    }
}
