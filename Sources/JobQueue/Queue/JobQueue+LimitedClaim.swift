import Postgres

extension JobQueue {
    /// Claims from lanes under a concurrency or rate limit, in a transaction that first locks what it counts by.
    ///
    /// - Throws: ``PostgresError``; of a lock that another session keeps for over a second as well.
    ///
    /// Lock and count must be two statements: the count of one statement is as old as its start, so that two claims which
    /// wait for the same row would both see the room of before.
    func claimLimited(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) async throws -> [ClaimedJob] {
        guard !lanes.isEmpty, request.limit > 0 else { return [] }
        return try await connection.transaction { connection in
            // Whoever else holds these rows, such as a worker that was stopped or a forgotten session, must not hold up the worker.
            try connection.execute("set local lock_timeout = '1s'")
            return try self.claimLimitedLocked(lanes, request, on: connection)
        }
    }

    /// The same within the caller's transaction.
    func claimLimitedLocked(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> [ClaimedJob] {
        // By name, everywhere: two claims wait for, but never deadlock, each other.
        let limits = try connection.query(
            """
            select kind, \(Self.running), \(Self.runningPerKey)
            from \(tables.limits)
            where kind = any(\(Set(lanes.map(\.kind)).sorted())::text[])
            order by kind
            for update
            """,
            as: (String, Int32?, Int32?).self
        )
        let queues = try connection.query(
            """
            select name, paused_at is not null, floor(\(Self.tokens))::int
            from \(tables.queues)
            where name = any(\(Set(lanes.map(\.queue)).sorted())::text[])
            order by name
            for update
            """,
            as: (String, Bool, Int32?).self
        )
        var tokens: [String: Int] = [:]
        var paused: Set<String> = []
        for (name, isPaused, left) in queues {
            if isPaused { paused.insert(name) }
            if let left { tokens[name] = Int(left) }
        }
        let limitOf = Dictionary(uniqueKeysWithValues: limits.map { ($0.0, (running: $0.1, perKey: $0.2)) })
        var claimed: [ClaimedJob] = []
        for lane in try byUrgency(lanes, request, on: connection) where !paused.contains(lane.queue) {
            var room = min(request.limit - claimed.count, tokens[lane.queue] ?? .max)
            let limit = limitOf[lane.kind]
            if let running = limit?.running {
                let count = try connection.one(
                    "select count(*) from \(tables.jobs) where state = 'running' and kind = \(lane.kind)",
                    as: Int64.self
                )
                room = min(room, Int(running) - Int(count))
            }
            guard room > 0 else { continue }
            let taken: [ClaimedJob]
            if let perKey = limit?.perKey {
                taken = try claimKeyed(lane, room: room, perKey: perKey, request, on: connection)
            } else {
                taken = try connection.query(
                    """
                    with picked as materialized (
                        select id
                        from \(tables.jobs) j
                        where j.state = 'available'
                        and \(request.suspects ? "j.crashes > 0" : "j.crashes = 0" as Statement)
                        and \(JobTables.isLane("\(lane.queue)", "\(lane.kind)"))
                        order by j.priority, j.run_at, j.id
                        limit \(room)
                        for update skip locked
                    )
                    \(take("array(select id from picked)", [lane], worker: request.worker))
                    """,
                    as: ClaimRow.self
                )
                .map(ClaimedJob.init(row:))
            }
            if let left = tokens[lane.queue], !taken.isEmpty {
                tokens[lane.queue] = left - taken.count
                try connection.execute(
                    """
                    update \(tables.queues)
                    set rate_tokens = \(Self.tokens) - \(taken.count),
                        rate_counted_at = statement_timestamp()
                    where name = \(lane.queue)
                    """
                )
            }
            claimed += taken
        }
        return claimed
    }

    /// The lanes in the order of their best jobs, those without one last.
    ///
    /// They share the room and the tokens of their queue: in any other order a full lane would leave nothing to the others.
    private func byUrgency(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> [Lane] {
        guard lanes.count > 1 else { return lanes }
        let order = try connection.query(
            """
            select lane.n
            from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) with ordinality as lane(queue, kind, n)
            left join lateral (
                select j.priority, j.run_at
                from \(tables.jobs) j
                where j.state = 'available'
                and \(request.suspects ? "j.crashes > 0" : "j.crashes = 0" as Statement)
                and \(JobTables.isLane())
                order by j.priority, j.run_at, j.id
                limit 1
            ) as best on true
            order by best.priority, best.run_at, lane.n
            """,
            as: Int64.self
        )
        return order.map { lanes[Int($0) - 1] }
    }

    /// Under the lock of the kind's limit row: lets parked jobs on whose key has room, takes up to `room`, parks what
    /// finds its key full.
    ///
    /// Parking keeps a thousand jobs of one busy key from being walked over at each claim.
    private func claimKeyed(
        _ lane: Lane,
        room: Int,
        perKey: Int32,
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> [ClaimedJob] {
        try unpark(lane.kind, perKey: perKey, on: connection)
        var taken: [ClaimedJob] = []
        // Each turn takes or parks all it looked at; the bound only keeps one claim short.
        for _ in 0..<20 where taken.count < room {
            let looked = try connection.query(
                """
                select id, limit_key
                from \(tables.jobs) j
                where j.state = 'available'
                and \(request.suspects ? "j.crashes > 0" : "j.crashes = 0" as Statement)
                and \(JobTables.isLane("\(lane.queue)", "\(lane.kind)"))
                order by j.priority, j.run_at, j.id
                limit \(room - taken.count)
                for update skip locked
                """,
                as: (Int64, String?).self
            )
            guard !looked.isEmpty else { break }
            let keys = Set(looked.compactMap(\.1)).sorted()
            let running = try connection.query(
                """
                select limit_key, count(*)
                from \(tables.jobs)
                where state = 'running'
                and kind = \(lane.kind)
                and limit_key = any(\(keys)::text[])
                group by limit_key
                """,
                as: (String, Int64).self
            )
            var left = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int64(perKey)) })
            for (key, count) in running { left[key, default: 0] -= count }
            var take: [Int64] = []
            var park: [Int64] = []
            for (id, key) in looked {
                guard let key else {
                    take.append(id)
                    continue
                }
                if left[key, default: 0] > 0 {
                    left[key, default: 0] -= 1
                    take.append(id)
                } else {
                    park.append(id)
                }
            }
            if !park.isEmpty {
                try connection.execute(
                    """
                    update \(tables.jobs)
                    set state = 'parked', parked_for = 'limit'
                    where id = any(\(park)::bigint[])
                    """
                )
            }
            if !take.isEmpty {
                taken += try connection.query(
                    self.take("\(take)::bigint[]", [lane], worker: request.worker),
                    as: ClaimRow.self
                )
                .map(ClaimedJob.init(row:))
            }
        }
        return taken
    }

    /// Makes as many parked jobs of each key available as the key has room for, by a walk from key to key in the index.
    private func unpark(_ kind: String, perKey: Int32, on connection: isolated Connection) throws {
        try connection.execute(
            """
            with recursive keys(limit_key) as (
                (
                    select limit_key
                    from \(tables.jobs)
                    where state = 'parked'
                    and kind = \(kind)
                    order by kind, limit_key
                    limit 1
                )
                union all
                select (
                    select j.limit_key
                    from \(tables.jobs) j
                    where j.state = 'parked'
                    and j.kind = \(kind)
                    and j.limit_key > keys.limit_key
                    order by j.kind, j.limit_key
                    limit 1
                )
                from keys
                where keys.limit_key is not null
            ),
            free as (
                select keys.limit_key, \(perKey) - (
                    select count(*)
                    from \(tables.jobs) r
                    where r.state = 'running'
                    and r.kind = \(kind)
                    and r.limit_key = keys.limit_key
                ) as room
                from keys
                where keys.limit_key is not null
            ),
            chosen as materialized (
                select parked.id
                from free,
                lateral (
                    select j.id
                    from \(tables.jobs) j
                    where j.state = 'parked'
                    and j.parked_for = 'limit'
                    and j.kind = \(kind)
                    and j.limit_key = free.limit_key
                    order by j.priority, j.run_at, j.id
                    limit greatest(0, free.room)
                    for update skip locked
                ) parked
            )
            update \(tables.jobs)
            set state = 'available', parked_for = null
            where id = any(array(select id from chosen))
            """
        )
    }
}
