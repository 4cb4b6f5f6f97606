package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An operator's settings for a queue.
package struct QueueSetting: Sendable, Hashable {
    package let name: String
    /// Since when the queue is paused; nil while it is not.
    package let pausedAt: Date?
    package let pauseReason: String?
    /// Claims per ``ratePeriod``; nil for any number.
    package let rate: Int32?
    /// The time in which ``rate`` claims are allowed, in seconds.
    package let ratePeriod: Double?
}

/// How many jobs of a kind may run at once, over all workers.
package struct KindLimitRecord: Sendable, Hashable {
    package let kind: String
    /// Jobs of the kind as a whole; nil for any number.
    package let running: Int32?
    /// Jobs of the kind and one limit key; nil for any number.
    package let runningPerKey: Int32?
    /// Whether an operator set any part of it; otherwise it comes from the code.
    package let isSetByHand: Bool
}

extension JobQueue {
    /// The queues that are paused or have a rate, by name.
    ///
    /// - Throws: ``PostgresError``.
    package func queueSettings(on connection: isolated Connection) throws -> [QueueSetting] {
        try connection.query(
            """
            select name, paused_at, pause_reason, rate_limit, extract(epoch from rate_period)::double precision
            from \(tables.queues)
            where paused_at is not null
            or rate_limit is not null
            order by name
            """,
            into: QueueSetting.init
        )
    }

    /// Those of the given queues that are paused, by name.
    ///
    /// - Throws: ``PostgresError``.
    package func pauses(
        of queues: some Sequence<String>,
        on connection: isolated Connection
    ) throws -> [QueueSetting] {
        let names = Set(queues)
        return try queueSettings(on: connection).filter { $0.pausedAt != nil && names.contains($0.name) }
    }

    /// The limits in force, by kind.
    ///
    /// - Throws: ``PostgresError``.
    package func kindLimits(on connection: isolated Connection) throws -> [KindLimitRecord] {
        try connection.query(
            """
            select kind, \(Self.running), \(Self.runningPerKey),
                set_running is not null or set_running_per_key is not null
            from \(tables.limits)
            where \(Self.isLimited)
            order by kind
            """,
            into: KindLimitRecord.init
        )
    }

    /// Limits how many jobs of a kind, and of a kind and key, run at once over all workers, overriding the code; nil
    /// for both returns to the code's limits.
    ///
    /// Running jobs continue. Workers learn of the limit after the caller's commit; until then, they leave the kind
    /// alone.
    ///
    /// - Returns: False if nothing changed.
    /// - Throws: ``JobQueueError`` for an invalid field; ``PostgresError``.
    @discardableResult
    package func limit(
        kind: String,
        running: Int?,
        runningPerKey: Int?,
        on connection: isolated Connection
    ) throws -> Bool {
        try JobField.checkName(kind, field: "kind")
        if let running { try JobField.checkRange(running, 1...100_000, field: "running") }
        if let runningPerKey { try JobField.checkRange(runningPerKey, 1...100_000, field: "runningPerKey") }
        let (total, each) = (running.map { Int32($0) }, runningPerKey.map { Int32($0) })
        let changed = try connection.execute(
            """
            insert into \(tables.limits) as l (kind, set_running, set_running_per_key)
            select \(kind), \(total)::int, \(each)::int
            where coalesce(\(total)::int, \(each)::int) is not null
            or exists (select from \(tables.limits) where kind = \(kind))
            on conflict (kind) do update
            set set_running = excluded.set_running,
                set_running_per_key = excluded.set_running_per_key,
                updated_at = clock_timestamp()
            where (l.set_running, l.set_running_per_key)
                is distinct from (excluded.set_running, excluded.set_running_per_key)
            """
        )
        if changed == 1 { try notify([JobTables.beatNote], on: connection) }
        return changed == 1
    }

    /// How many jobs of a queue may be claimed now, as an expression over a row of `queues`; null without a rate.
    ///
    /// If `rate_counted_at` is in the future, as written by another server's clock, no time counts as elapsed.
    static let tokens: Statement = """
        least(rate_limit, rate_tokens
            + rate_limit * greatest(0, extract(epoch from statement_timestamp() - rate_counted_at))
            / extract(epoch from rate_period))
        """

    /// The limits in force, over columns of `job_limits`: an operator's value takes precedence over the code's.
    static let running: Statement = "coalesce(set_running, max_running)"
    static let runningPerKey: Statement = "coalesce(set_running_per_key, max_running_per_key)"
    static let isLimited: Statement = """
        coalesce(set_running, max_running, set_running_per_key, max_running_per_key) is not null
        """
}
