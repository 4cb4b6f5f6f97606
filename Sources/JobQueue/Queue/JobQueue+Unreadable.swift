package import Postgres

extension JobQueue {
    /// How many jobs of each kind are set aside since no worker could read their arguments, by kind.
    ///
    /// They wait for a release that can, or for somebody, however long; and their unique keys keep others from being
    /// added in their place.
    ///
    /// - Throws: ``PostgresError``.
    package func unreadable(on connection: isolated Connection) throws -> [(kind: String, count: Int)] {
        try connection.query(
            """
            select kind, count(*)
            from \(tables.jobs)
            where state = 'parked'
            and parked_for is distinct from 'limit'
            group by kind
            order by kind
            """,
            as: (String, Int).self
        )
        .map { (kind: $0.0, count: $0.1) }
    }
}
