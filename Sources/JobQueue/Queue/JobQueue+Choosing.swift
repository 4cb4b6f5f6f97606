import Postgres

/// The queries that choose the jobs of a claim.
extension JobQueue {
    /// The common table expressions of a claim.
    ///
    /// `picked` locks the best jobs of the lanes; with several lanes, as many of each as `chosen` says. With
    /// `onlyOpen`, lanes that are not open are left out.
    ///
    /// With several lanes, jobs are first chosen without locks: locking every candidate of every lane would hide the
    /// surplus from other claims until this one commits. The locking scan starts at the first chosen row, so dead rows
    /// before it are read only once.
    func choosing(_ lanes: [Lane], _ request: ClaimRequest, onlyOpen: Bool = true) -> Statement {
        guard lanes.count > 1 else {
            return """
                picked as materialized (
                \(picked(lanes, request, onlyOpen: onlyOpen))
                )
                """
        }
        let isBounded = request.isBounded
        // Without bounds, all priorities of a lane have one share: if the first jobs are locked by others, the next
        // take their place.
        let group: Statement = isBounded ? "lane.queue, lane.kind, lane.priority" : "lane.queue, lane.kind"
        let first: Statement =
            isBounded
            ? "lane.priority, min(lane.run_at)"
            : """
            (array_agg(lane.priority order by lane.priority, lane.run_at))[1],
            (array_agg(lane.run_at order by lane.priority, lane.run_at))[1]
            """
        let since: Statement =
            isBounded
            ? "and j.priority = lane.priority and j.run_at >= lane.since"
            : "and (j.priority, j.run_at) >= (lane.priority, lane.since)"
        return """
            chosen (queue, kind, priority, since, share) as materialized (
                select lane.queue, lane.kind, \(first), count(*)
                from (
                    select lane.queue, lane.kind, best.priority, best.run_at
                    from (
                    \(probes(lanes, request, onlyOpen: onlyOpen))
                    ) as lane,
                    lateral (
                    \(best(request, limit: "\(request.limit)", from: bound(request)))
                    ) as best
                    order by best.priority, best.run_at, best.id
                    limit \(request.limit)
                ) as lane
                group by \(group)
            ),
            picked as materialized (
                select picked.id
                from chosen as lane,
                lateral (
                \(best(request, limit: "lane.share", from: since))
                for update skip locked
                ) as picked
            )
            """
    }

    /// How many jobs ``choosing(_:_:onlyOpen:)`` chose; 0 for a single lane, where it makes no choice.
    func chosenCount(_ lanes: [Lane]) -> Statement {
        lanes.count > 1 ? "(select coalesce(sum(share), 0)::bigint from chosen)" : "0::bigint"
    }

    /// Locks the best jobs of each lane; with `onlyOpen`, lanes that are not open are left out.
    ///
    /// The caller must wrap this in a materialised CTE: inlined, a sub-select with a limit may be run again for each
    /// row of an outer loop, and take more than its limit.
    func picked(_ lanes: [Lane], _ request: ClaimRequest, onlyOpen: Bool = true) -> Statement {
        """
        select picked.id
        from (
        \(probes(lanes, request, onlyOpen: onlyOpen))
        ) as lane,
        lateral (
        \(best(request, limit: "\(request.limit)", from: bound(request)))
        for update skip locked
        ) picked
        order by picked.priority, picked.run_at, picked.id
        limit \(request.limit)
        """
    }

    /// Where to look for jobs: the lanes, or each of their priorities from its bound.
    private func probes(_ lanes: [Lane], _ request: ClaimRequest, onlyOpen: Bool) -> Statement {
        // `offset 0` keeps the planner from checking whether a lane is open only after it has locked jobs that may not
        // be claimed.
        let open: Statement = onlyOpen ? "\(whereLaneIsOpen) offset 0" : ""
        guard let bounds = request.bounds, request.isBounded else {
            return """
                select lane.*
                from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) as lane(queue, kind)
                \(open)
                """
        }
        return """
            select lane.*
            from \(Self.probes(of: lanes, from: bounds)) as lane(n, queue, kind, priority, floor)
            \(open)
            """
    }

    private func bound(_ request: ClaimRequest) -> Statement { request.isBounded ? "and \(Self.isAboveBound)" : "" }

    /// The best jobs of `lane` in the surrounding lateral join.
    private func best(_ request: ClaimRequest, limit: Statement, from bound: Statement) -> Statement {
        // Every condition of a partial index is spelled as in its definition; otherwise the planner does not recognize
        // that the index applies.
        """
        select j.id, j.priority, j.run_at
        from \(tables.jobs) j
        where j.state = 'available'
        and \(request.crashed)
        and \(JobTables.isLane())
        \(bound)
        order by j.priority, j.run_at, j.id
        limit \(limit)
        """
    }

    /// One probe per lane and priority, each from its own bound.
    ///
    /// An urgent job is found even if the bounds of less urgent ones are already past it. The rows hold the position of
    /// the lane, from 0, its queue and kind, the priority and the bound.
    static func probes(of lanes: [Lane], from bounds: ClaimBounds.Start) -> Statement {
        var places: [Int32] = []
        var queues: [String] = []
        var kinds: [String] = []
        var priorities: [Int16] = []
        var from: [Int64] = []
        for (place, lane) in lanes.enumerated() {
            for priority in Int16(0)...9 {
                places.append(Int32(place))
                queues.append(lane.queue)
                kinds.append(lane.kind)
                priorities.append(priority)
                from.append(bounds[ClaimBounds.Key(lane: lane.name, priority: priority)])
            }
        }
        return """
            unnest(
                \(places)::int[], \(queues)::text[], \(kinds)::text[], \(priorities)::smallint[], \(from)::bigint[]
            )
            """
    }

    /// The condition that the jobs `j` are those that a probe looks for.
    static let isAboveBound: Statement = """
        j.priority = lane.priority
        and j.run_at >= 'epoch'::timestamptz + lane.floor * interval '1 microsecond'
        """

    /// The condition that a lane is neither paused nor under a limit.
    private var whereLaneIsOpen: Statement {
        """
        where not exists (
            select
            from \(tables.queues) q
            where q.name = lane.queue
            and (q.paused_at is not null or q.rate_limit is not null)
        )
        and not exists (
            select
            from \(tables.limits) l
            where l.kind = lane.kind
            and \(Self.isLimited)
        )
        """
    }
}
