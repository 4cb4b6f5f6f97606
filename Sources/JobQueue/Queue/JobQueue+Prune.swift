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

    /// The most days that one transaction drops.
    ///
    /// Jobs that end wait for it, and it locks all tables and indexes that it drops, of which a server has room for some
    /// thousands.
    static let prunedAtOnce = 30

    /// Drops days of history, oldest first: no more than were found, whatever the clock says by now.
    ///
    /// Returns the names of the partitions, also where some are left: then with the error that ended it, such as that
    /// another session is in the way.
    package func prune(
        _ days: OldDays,
        on connection: isolated Connection
    ) async -> (dropped: [String], failure: (any Error)?) {
        var dropped: [String] = []
        do {
            while dropped.count < days.partitions.count {
                let most = min(Self.prunedAtOnce, days.partitions.count - dropped.count)
                let part = try await connection.briefTransaction(patience: .seconds(2)) { connection in
                    try connection.one(
                        "select \(self.tables.schema).prune_job_history(\(days.before), \(most)::integer)",
                        as: [String].self
                    )
                }
                // A worker dropped the rest.
                guard !part.isEmpty else { break }
                dropped += part
            }
        } catch {
            return (dropped, error)
        }
        return (dropped, nil)
    }
}
