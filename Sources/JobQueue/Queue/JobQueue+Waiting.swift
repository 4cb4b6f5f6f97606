import Postgres

extension JobQueue {
    /// Whether a job that must run alone waits in these lanes, in a queue that is not paused.
    ///
    /// True also if its limit is full: the ordinary jobs that fill it end when room is made for this job.
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

    /// Whether a claim could take jobs of these lanes now, or soon, once they are made available.
    ///
    /// Jobs that wait for the rate of their queue, or for others of their kind to end, do not count. `suspect` tells
    /// whether one of the jobs must run alone.
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

    /// Whether a claim under limits may find anything to take or to unpark in these lanes.
    func mayTake(_ lanes: [Lane], _ request: ClaimRequest, on connection: isolated Connection) throws -> Bool {
        // The claim starts at the known places of waiting keys; everything that was already unparked lies before them.
        if request.waiting.values.contains(where: { !$0.places.isEmpty }) { return true }
        return try connection.one(look(at: lanes, for: request), as: Bool.self)
    }

    /// Looks above the bounds, then for jobs that wait for room, then everywhere.
    private func look(at lanes: [Lane], for request: ClaimRequest) -> Statement {
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
        // One probe per kind; parked jobs that wait for something else mostly have no key.
        let waitsForRoom: Statement = """
            exists (
                select
                from unnest(\(Set(lanes.map(\.kind)).sorted())::text[]) as lane(kind),
                lateral (
                    select
                    from \(tables.jobs) j
                    where j.state = 'parked'
                    and j.parked_for = 'limit'
                    and j.kind = lane.kind
                    and j.limit_key is not null
                    limit 1
                ) waiting
            )
            """
        return request.isBounded
            ? "select \(aboveBounds) or \(waitsForRoom) or \(everywhere)"
            : "select \(everywhere) or \(waitsForRoom)"
    }

    /// One probe per lane; a plain `exists` may be planned as a join over everything available.
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
