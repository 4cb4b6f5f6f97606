import Postgres

/// The rows that a claim under limits locks first and counts by.
extension JobQueue {
    /// A kind with its limits, and the lease from which its running jobs are counted.
    typealias LockedLimit = (kind: String, running: Int32?, perKey: Int32?, floor: Int64)

    /// Locks the limits of the lanes' kinds.
    func lockLimits(of lanes: [Lane], on connection: isolated Connection) throws -> [LockedLimit] {
        try connection.query(
            """
            select kind, \(Self.running), \(Self.runningPerKey), counted_from
            from \(tables.limits)
            where kind = any(\(Set(lanes.map(\.kind)).sorted())::text[])
            and \(Self.isLimited)
            order by kind
            for update
            """,
            as: (String, Int32?, Int32?, Int64).self
        )
    }

    /// Locks the settings of the lanes' queues, and corrects rates that count from an instant in the future.
    func lockQueues(of lanes: [Lane], on connection: isolated Connection) throws -> QueueTokens {
        let queues = try connection.query(
            """
            select name, paused_at is not null, floor(\(Self.tokens))::int,
                -- Not the statement's timestamp: a claim that waited for the row sees what another wrote after this
                -- statement began.
                rate_counted_at > clock_timestamp()
            from \(tables.queues)
            where name = any(\(Set(lanes.map(\.queue)).sorted())::text[])
            order by name
            for update
            """,
            as: (String, Bool, Int32?, Bool).self
        )
        let ahead = queues.filter { $0.3 }.map { $0.0 }
        if !ahead.isEmpty {
            // The clock went back: count from now on; otherwise no tokens would come until the clock catches up.
            try connection.execute(
                """
                update \(tables.queues)
                set rate_counted_at = statement_timestamp()
                where name = any(\(ahead)::text[])
                """
            )
        }
        return QueueTokens(queues.map { (queue: $0.0, isPaused: $0.1, tokens: $0.2) })
    }

    /// Spends tokens of a queue's rate; its row must be locked.
    func spend(_ count: Int, of queue: String, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update \(tables.queues)
            set rate_tokens = \(Self.tokens) - \(count),
                rate_counted_at = statement_timestamp()
            where name = \(queue)
            """
        )
    }
}
