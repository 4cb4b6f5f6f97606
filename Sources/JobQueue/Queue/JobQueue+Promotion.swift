import Postgres

/// Jobs whose time has come.
extension JobQueue {
    /// The most due jobs that one ``promote(lookingAtAll:on:)`` makes available.
    static let promotedAtOnce = 1000

    /// How long before the present a job became due that ``promote(lookingAtAll:on:)`` finds without looking at all.
    static let promotionReach = Duration.seconds(10)

    /// What a promotion did.
    struct Promotion: Sendable {
        /// How many jobs it made available.
        var promoted = 0
        /// Their lanes.
        var lanes: Set<Lane.Name> = []
        /// The time until the next one is due, in microseconds.
        var nextIn: Int64?

        /// Whether more may be due than one statement takes.
        var isCut: Bool { promoted >= JobQueue.promotedAtOnce }
    }

    /// Makes due jobs available, with the present as the time they became ready.
    ///
    /// Where it does not look at all, it leaves out the start of the index, where behind an old snapshot the dead entries
    /// of all jobs lie that were promoted since. What became due longer ago than ``promotionReach`` waits for one that
    /// does: it was committed late, or somebody had its row.
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

    /// A row for each promoted job, with its queue and kind, and one with the time until the next is due.
    ///
    /// A volatile `clock_timestamp()` in the comparison could not bound the index scan: it would walk over all that is
    /// scheduled for later, and the search for the next over all that ever was. One statement, so that no job becomes
    /// due between the two.
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
                    -- Since when it could have run, however late somebody came to see it.
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
