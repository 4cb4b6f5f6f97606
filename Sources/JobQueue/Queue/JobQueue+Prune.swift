package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JobQueue {
    /// Days of history that ended before a moment.
    package struct OldDays: Sendable, Hashable {
        /// The names of their partitions, oldest first.
        package let partitions: [String]
        fileprivate let before: Date
    }

    /// The days of history that ended more than `age` ago.
    ///
    /// Looks at catalogs only.
    ///
    /// - Throws: ``JobQueueError`` for an age out of bounds; ``PostgresError``.
    package func oldDays(olderThan age: Duration, on connection: isolated Connection) throws -> OldDays {
        try Self.checkAge(age)
        let (before, partitions) = try connection.one(
            """
            with bound (before) as (
                select now() - \(age.seconds)::double precision * interval '1 second'
            )
            select before, array(
                select c.relname::text
                from pg_catalog.pg_inherits i
                join pg_catalog.pg_class c on c.oid = i.inhrelid
                where i.inhparent = \("\(tables.schemaName).job_history")::regclass
                and c.relname ~ '^job_history_[0-9]{8}$'
                and (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' <= before
                order by c.relname
            )
            from bound
            """,
            as: (Date, [String]).self
        )
        return OldDays(partitions: partitions, before: before)
    }

    private static func checkAge(_ age: Duration) throws(JobQueueError) {
        try JobField.checkRange(age, .zero...(.seconds(3650 * 86_400)), field: "age")
    }

    /// Drops days of history: no more than were found, whatever the clock says by now.
    ///
    /// Returns the names of the partitions.
    ///
    /// - Throws: ``PostgresError``, such as when another session is in the way.
    package func prune(_ days: OldDays, on connection: isolated Connection) async throws -> [String] {
        try await connection.briefTransaction(patience: .seconds(2)) { connection in
            try connection.one(
                """
                select \(self.tables.schema).prune_job_history(
                    \(days.before), \(days.partitions.count)::integer
                )
                """,
                as: [String].self
            )
        }
    }
}
