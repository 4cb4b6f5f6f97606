import Postgres

extension JobQueue {
    /// Claims from lanes under a concurrency or rate limit, in a transaction that first locks the rows it counts by.
    ///
    /// - Throws: ``PostgresError``, also if another session keeps a lock for over a second.
    ///
    /// Lock and count must be two statements: a statement counts with a snapshot from its start, so two claims waiting
    /// for the same row would both see the earlier count.
    func claimLimited(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) async throws -> LimitedClaim {
        guard !lanes.isEmpty, request.limit > 0 else { return LimitedClaim() }
        // Another holder of these rows, such as a forgotten session, must not hold up the worker.
        return try await connection.briefTransaction { connection in
            try self.claimLimitedLocked(lanes, request, on: connection)
        }
    }

    /// Claims from lanes under a limit within the caller's transaction.
    func claimLimitedLocked(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> LimitedClaim {
        // Always limits before queues, each in the order of their names: two claims wait for each other, but never
        // deadlock.
        let limits = try lockLimits(of: lanes, on: connection)
        var queues = try lockQueues(of: lanes, on: connection)
        var counts = try count(
            limits.map { kind, running, perKey, floor in
                // Jobs claimed before the limit was known may lie below the floor, so an unbounded claim counts from 0.
                let from = request.bounds == nil ? 0 : floor
                return (kind, RunningCount(most: running, perKey: perKey, storedFloor: floor, from: from))
            },
            on: connection
        )
        var claim = LimitedClaim()
        // Drop full lanes first: they need no search.
        let open = lanes.filter { queues.left(of: $0.queue) > 0 && counts[$0.kind]?.room != 0 }
        let ordered = try byUrgency(open, request, on: connection)
        for group in Self.together(ordered, unless: Set(counts.keys)) {
            let lane = group[0]
            var part = request
            part.limit = min(
                request.limit - claim.jobs.count,
                queues.left(of: lane.queue),
                counts[lane.kind]?.room ?? .max
            )
            guard part.limit > 0 else { continue }
            part.bounds = request.bounds?.part(of: Set(group.map(\.name)))
            // Another lane of the kind may already have updated this.
            part.waiting = request.waiting.merging(claim.waiting) { $1 }
            let taken: [ClaimedJob]
            if let count = counts[lane.kind], let perKey = count.perKey {
                let keyed = try claimKeyed(lane, perKey: perKey, from: count.from, part, on: connection)
                taken = keyed.jobs
                claim.parked += keyed.parked
                claim.waiting.merge(keyed.waiting) { $1 }
                claim.isCut = claim.isCut || keyed.isCut
            } else {
                taken = try claimUnkeyed(group, part, on: connection)
            }
            counts[lane.kind]?.took(taken)
            if queues.took(taken.count, of: lane.queue) {
                try spend(taken.count, of: lane.queue, on: connection)
            }
            claim.jobs += taken
        }
        try remember(counts, on: connection)
        return claim
    }

    /// Groups lanes that are claimed from together, in the order of the first lane of each group.
    ///
    /// Lanes of one queue whose kinds have no limit share only the queue's tokens, which go to the best of all their
    /// jobs.
    private static func together(_ lanes: [Lane], unless limitedKinds: Set<String>) -> [[Lane]] {
        var parts: [[Lane]] = []
        var places: [String: Int] = [:]
        for lane in lanes {
            if limitedKinds.contains(lane.kind) {
                parts.append([lane])
            } else if let place = places[lane.queue] {
                parts[place].append(lane)
            } else {
                places[lane.queue] = parts.count
                parts.append([lane])
            }
        }
        return parts
    }

    /// Counts the running jobs of kinds whose rows are locked.
    private func count(
        _ kinds: [(String, RunningCount)],
        on connection: isolated Connection
    ) throws -> [String: RunningCount] {
        guard !kinds.isEmpty else { return [:] }
        var counts = Dictionary(uniqueKeysWithValues: kinds)
        let rows = try connection.query(
            """
            select limited.kind, running.count, running.least
            from unnest(\(kinds.map(\.0))::text[], \(kinds.map(\.1.from))::bigint[]) as limited(kind, floor),
            lateral (
                select count(*) as count, min(j.lease) as least
                from \(tables.jobs) j
                where \(JobTables.isRunning("limited.kind", from: "limited.floor"))
            ) as running
            """,
            as: (String, Int64, Int64?).self
        )
        for (kind, count, least) in rows { counts[kind]?.found(count, least: least) }
        return counts
    }

    /// Advances the floors from which the next claim counts.
    private func remember(_ counts: [String: RunningCount], on connection: isolated Connection) throws {
        let moved = counts.compactMapValues(\.newFloor).sorted { $0.key < $1.key }
        guard !moved.isEmpty else { return }
        try connection.execute(
            """
            update \(tables.limits) l
            set counted_from = moved.floor
            from unnest(\(moved.map(\.key))::text[], \(moved.map(\.value))::bigint[]) as moved(kind, floor)
            where l.kind = moved.kind
            """
        )
    }

    /// The lanes in the order of their best jobs, lanes without jobs last.
    ///
    /// Lanes share the room of their kind and the tokens of their queue: in any other order, a lane with many jobs
    /// would leave nothing to the others.
    private func byUrgency(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> [Lane] {
        guard lanes.count > 1 else { return lanes }
        let order = try connection.query(
            """
            select lane.n
            from \(Self.probes(of: lanes, from: request.bounds ?? [:])) as lane(n, queue, kind, priority, floor)
            left join lateral (
                select j.priority, j.run_at
                from \(tables.jobs) j
                where j.state = 'available'
                and \(request.crashed)
                and \(JobTables.isLane())
                and \(Self.isAboveBound)
                order by j.priority, j.run_at, j.id
                limit 1
            ) as best on true
            order by best.priority, best.run_at, lane.n
            """,
            as: Int32.self
        )
        var seen: Set<Int32> = []
        return order.filter { seen.insert($0).inserted }.map { lanes[Int($0)] }
    }

    /// Takes the best jobs of the lanes, including jobs below the bounds if there are too few above.
    private func claimUnkeyed(
        _ lanes: [Lane],
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> [ClaimedJob] {
        func take(_ request: ClaimRequest) throws -> [ClaimedJob] {
            try connection.query(
                """
                with \(choosing(lanes, request, onlyOpen: false))
                \(self.take("array(select id from picked)", lanes, worker: request.worker))
                """,
                as: ClaimRow.self
            )
            .map { ClaimedJob($0, of: request.worker) }
        }
        let taken = try take(request)
        guard let rest = request.belowBounds(after: taken.count) else { return taken }
        return try taken + take(rest)
    }
}
