package import Postgres

/// A kind with jobs whose last attempt failed, and which wait to be tried again.
package struct FailingKind: Sendable, Hashable {
    package let kind: String
    /// How many such jobs there are.
    package let count: Int
    /// The text of the latest of their errors.
    package let lastError: String?
}

extension JobQueue {
    /// The kinds of the jobs that wait after a failure, by name.
    ///
    /// A job that failed, went on and now waits for something else does not count.
    ///
    /// - Throws: ``PostgresError``.
    package func failingKinds(on connection: isolated Connection) throws -> [FailingKind] {
        try connection.query(
            """
            select kind, count(*),
                -- The times have one form, so the greatest text is the latest. To sort a million errors takes seconds.
                (max(array[errors -> -1 ->> 'at', errors -> -1 ->> 'error']))[2]
            from \(tables.jobs)
            where state = 'scheduled'
            -- The statement that gives a job back after a failure writes both times, a moment apart.
            and (errors -> -1 ->> 'at')::timestamptz >= coalesce(waiting_since, created_at) - interval '1 second'
            group by kind
            order by kind
            """,
            into: FailingKind.init
        )
    }
}
