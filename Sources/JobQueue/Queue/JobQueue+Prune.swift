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
    /// Reads only the system catalogs.
    ///
    /// - Throws: ``JobQueueError`` if the age is out of bounds; ``PostgresError``.
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
    /// Jobs that end wait for this transaction. It locks all tables and indexes that it drops, and a server has room
    /// for some thousands of locks.
    static let prunedAtOnce = 30

    /// Drops days of history, oldest first, and only those that were found, whatever the clock says by now.
    ///
    /// Returns the names of the dropped partitions, and if some are left, the error that stopped it, such as a lock
    /// held by another session.
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
                // A worker has dropped the rest.
                guard !part.isEmpty else { break }
                dropped += part
            }
        } catch {
            return (dropped, error)
        }
        return (dropped, nil)
    }
}
