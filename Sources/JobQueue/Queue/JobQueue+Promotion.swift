import Postgres

/// Promotion of scheduled jobs whose time has come.
extension JobQueue {
    /// The most due jobs that one ``promote(lookingAtAll:on:)`` makes available.
    static let promotedAtOnce = 1000

    /// How far back in time ``promote(lookingAtAll:on:)`` looks for due jobs unless it looks at all of them.
    static let promotionReach = Duration.seconds(10)

    /// The result of a promotion.
    struct Promotion: Sendable {
        /// How many jobs it made available.
        var promoted = 0
        /// Their lanes.
        var lanes: Set<Lane.Name> = []
        /// The time until the next one is due, in microseconds.
        var nextIn: Int64?

        /// Whether more jobs may be due than one statement promotes.
        var isCut: Bool { promoted >= JobQueue.promotedAtOnce }
    }

    /// Makes due jobs available, with the current time as the time they became ready.
    ///
    /// Unless it looks at all, it skips the start of the index, where behind an old snapshot the dead entries of all
    /// jobs promoted since then lie. A job that became due longer ago than ``promotionReach``, because it was committed
    /// late or its row was locked, waits for a call that looks at all.
    func promote(lookingAtAll: Bool = true, on connection: isolated Connection) throws -> Promotion {
        var promotion = Promotion()
        let statement = self.promotion(limit: Self.promotedAtOnce, lookingAtAll: lookingAtAll)
        for (queue, kind, nextIn) in try connection.query(statement, as: (String?, String?, Int64?).self) {
            guard let queue, let kind else {
                promotion.nextIn = nextIn
                continue
            }
            promotion.promoted += 1
            promotion.lanes.insert(Lane.Name(queue: queue, kind: kind))
        }
        return promotion
    }

    /// Lets waits begin now that began at an instant in the future: the clock was set back since.
    ///
    /// Otherwise a failed job would not be retried until the clock has caught up. A job enqueued for an instant keeps
    /// it.
    ///
    /// Returns how many. If that is ``promotedAtOnce``, there may be more.
    func renewWaitsAhead(on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            update \(tables.jobs)
            set run_at = clock.now + (run_at - waiting_since),
                waiting_since = clock.now
            from (select clock_timestamp() as now offset 0) as clock
            where id = any(array(
                select id
                from \(tables.jobs)
                where state = 'scheduled'
                and waiting_since > statement_timestamp()
                -- A manual change may have written infinite times.
                and isfinite(waiting_since)
                and isfinite(run_at)
                limit \(Self.promotedAtOnce)
                for update skip locked
            ))
            """
        )
    }

    /// A statement that returns one row per promoted job, with its queue and kind, and one with the time until the next
    /// is due.
    ///
    /// A volatile `clock_timestamp()` in the comparison could not bound the index scan: it would walk over everything
    /// scheduled for later, and the search for the next due job over everything that ever was scheduled. Both are one
    /// statement, so that no job becomes due in between.
    func promotion(limit: Int, lookingAtAll: Bool) -> Statement {
        let start: Statement =
            lookingAtAll
            ? ""
            : "and run_at >= statement_timestamp() - \(Self.promotionReach.seconds)::double precision * interval '1 second'"
        return """
            with due as materialized (
                select id
                from \(tables.jobs)
                where state = 'scheduled'
                and run_at <= statement_timestamp()
                \(start)
                order by run_at
                limit \(limit)
                for update skip locked
            ),
            promoted as (
                update \(tables.jobs)
                set state = 'available',
                    -- Since when it could have run, however late it is promoted.
                    waiting_since = \(Self.readyAt),
                    aged_at = clock.now,
                    run_at = clock.now
                from (select clock_timestamp() as now offset 0) as clock
                where id = any(array(select id from due))
                returning queue, kind
            )
            select queue, kind, null::bigint
            from promoted
            union all
            select null, null, (extract(epoch from min(run_at) - clock_timestamp()) * 1000000)::bigint
            from \(tables.jobs)
            where state = 'scheduled'
            and run_at > statement_timestamp()
            and run_at < 'infinity'
            """
    }
}
