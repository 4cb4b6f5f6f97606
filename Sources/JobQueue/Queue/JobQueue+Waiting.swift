import Postgres

extension JobQueue {
    /// Whether a job of these lanes waits that must run alone, in a queue that is not paused.
    ///
    /// Also under a limit that is full: the ordinary jobs that fill it end when room is made for this one.
    func hasSuspects(_ lanes: [Lane], on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) as lane(queue, kind),
                \(anyAvailable("j.crashes > 0"))
                where not exists (
                    select from \(tables.queues) q where q.name = lane.queue and q.paused_at is not null
                )
            )
            """,
            as: Bool.self
        )
    }

    /// What jobs of these lanes a claim could take now, or soon, once they were made available.
    ///
    /// Not those that wait for the rate of their queue or for others of their kind to end. `suspect`: one that must run
    /// alone.
    func claimable(_ lanes: [Lane], on connection: isolated Connection) throws -> (plain: Bool, suspect: Bool) {
        let open: Statement = """
            (
                select lane.*
                from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) as lane(queue, kind)
                where not exists (
                    select
                    from \(tables.queues) q
                    where q.name = lane.queue
                    and (q.paused_at is not null or \(Self.tokens) < 1)
                )
                and not exists (
                    select
                    from \(tables.limits) l
                    where l.kind = lane.kind
                    and \(Self.running) <= (
                        select count(*)
                        from \(tables.jobs) j
                        where j.state = 'running'
                        and j.kind = l.kind
                    )
                )
                offset 0
            ) as lane
            """
        return try connection.one(
            """
            select
                exists (select from \(open), \(anyAvailable("j.crashes = 0")))
                or exists (
                    select
                    from \(tables.jobs) j
                    where j.state = 'scheduled'
                    and j.run_at <= statement_timestamp()
                    and j.kind = any(\(lanes.map(\.kind))::text[])
                ),
                exists (select from \(open), \(anyAvailable("j.crashes > 0")))
            """,
            as: (Bool, Bool).self
        )
    }

    /// One probe per lane; an `exists` may be planned as a join over all that is available.
    private func anyAvailable(_ crashed: Statement) -> Statement {
        """
        lateral (
            select
            from \(tables.jobs) j
            where j.state = 'available'
            and \(crashed)
            and \(JobTables.isLane())
            limit 1
        ) waiting
        """
    }
}
