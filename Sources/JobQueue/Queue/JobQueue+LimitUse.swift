package import Postgres

/// How far the limits of kinds and the rates of queues are used at this moment.
package struct LimitUse: Sendable, Hashable {
    /// How many jobs of each kind with a limit run.
    package let running: [String: Int]
    /// How many jobs run of the busiest limit key, by kind.
    package let ofOneKey: [String: Int]
    /// How many more jobs of each queue with a rate may begin now.
    package let left: [String: Int]
}

extension JobQueue {
    /// How far the limits and rates in force are used.
    ///
    /// - Throws: ``PostgresError``.
    package func limitUse(on connection: isolated Connection) throws -> LimitUse {
        let running = try connection.query(
            """
            select
                l.kind, coalesce(sum(part.count), 0)::bigint,
                coalesce(max(part.count) filter (where part.limit_key is not null), 0)
            from \(tables.limits) l
            left join lateral (
                select j.limit_key, count(*) as count
                from \(tables.jobs) j
                where \(JobTables.isRunning("l.kind", from: "0"))
                group by j.limit_key
            ) as part on true
            where \(Self.isLimited)
            group by l.kind
            """,
            as: (String, Int, Int).self
        )
        let left = try connection.query(
            """
            select name, greatest(0, floor(\(Self.tokens)))::bigint
            from \(tables.queues)
            where rate_limit is not null
            """,
            as: (String, Int).self
        )
        // Names written by hand may be encoded in two ways that compare equal in Swift.
        return LimitUse(
            running: Dictionary(running.map { ($0.0, $0.1) }, uniquingKeysWith: +),
            ofOneKey: Dictionary(running.map { ($0.0, $0.2) }, uniquingKeysWith: max),
            left: Dictionary(left, uniquingKeysWith: min)
        )
    }
}
