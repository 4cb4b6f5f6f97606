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

    /// Whether these lanes have anything that a claim under limits may bring about: a job that is available, or one that
    /// waits for room.
    ///
    /// Looks where the bounds say that jobs are before it looks everywhere.
    func mayHaveSome(_ lanes: [Lane], _ request: ClaimRequest) -> Statement {
        let everywhere: Statement = """
            exists (
                select
                from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) as lane(queue, kind),
                \(anyAvailable(request.crashed))
            )
            """
        let aboveBounds: Statement = """
            exists (
                select
                from \(Self.probes(of: lanes, from: request.bounds ?? [:])) as lane(n, queue, kind, priority, floor),
                \(anyAvailable("\(request.crashed) and \(Self.isAboveBound)"))
            )
            """
        let waitsForRoom: Statement = """
            exists (
                select
                from \(tables.jobs) j
                where j.state = 'parked'
                and j.parked_for = 'limit'
                and j.kind = any(\(lanes.map(\.kind))::text[])
            )
            """
        return request.isBounded
            ? "select \(aboveBounds) or \(waitsForRoom) or \(everywhere)"
            : "select \(everywhere) or \(waitsForRoom)"
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
