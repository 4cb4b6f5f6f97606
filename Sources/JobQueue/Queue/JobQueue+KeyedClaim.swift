import Postgres

extension JobQueue {
    /// Claims from a lane with a limit per key, under the lock of the kind's limit row.
    ///
    /// Unparks jobs whose key has room, takes up to the wanted number, and parks jobs whose key is full.
    ///
    /// Parking spares each claim from walking over a thousand jobs of one busy key. With bounds, only keys known to
    /// have waiting jobs are checked first; the others only if the claim finds too few.
    func claimKeyed(
        _ lane: Lane,
        perKey: Int32,
        from floor: Int64,
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> LimitedClaim {
        let room = request.limit
        // Parking the jobs of full keys needs no free slot: at least a hundred jobs are examined.
        let most = max(room, 100)
        var waiting = request.bounds.flatMap { _ in request.waiting[lane.kind] } ?? WaitingKeys()
        // Parked jobs keep their `run_at`, which may lie below a bound, so unparked jobs are found by id.
        var freed = try unparkKnown(lane.kind, &waiting, perKey: perKey, from: floor, atMost: most, on: connection)
        // After a limit was raised, more parked jobs may have room than a claim takes.
        var hasLeftSome = freed.count >= most
        var knowsAllKeys = false
        func unparkTheOthers() throws {
            let others = try unparkOthers(
                lane.kind,
                &waiting,
                perKey: perKey,
                from: floor,
                atMost: most,
                on: connection
            )
            hasLeftSome = hasLeftSome || others.count >= most
            freed.formUnion(others)
            knowsAllKeys = true
        }
        func bound(_ priority: Int16) -> ClaimBounds.Key { .init(lane: lane.name, priority: priority) }
        if request.bounds == nil { try unparkTheOthers() }
        var request = request
        // Whether jobs below the bounds have not been searched yet.
        var hasBounds = request.isBounded
        var claim = LimitedClaim()
        var turns = 0
        while claim.jobs.count < room {
            // Each turn takes or parks most of the jobs it examined; the bound on turns only keeps one claim short.
            guard turns < 20 else {
                claim.isCut = true
                break
            }
            request.limit = turns == 0 ? room : most
            turns += 1
            let candidates = try candidates(lane, request, freed: freed, on: connection)
            freed.subtract(candidates.map(\.place.id))
            let goesBelow = candidates.count < request.limit && hasBounds
            if candidates.count < request.limit, !knowsAllKeys {
                try unparkTheOthers()
            } else if candidates.isEmpty, !goesBelow {
                break
            }
            let choice = KeyedChoice(
                candidates,
                rooms: try rooms(for: Set(candidates.compactMap(\.key)), lane, perKey, from: floor, on: connection),
                wanted: room - claim.jobs.count
            )
            for parked in choice.parked {
                guard let key = parked.key else { continue }
                claim.parked.append((bound(parked.place.priority), parked.place.readyAt))
                waiting.waits(key, at: parked.place)
            }
            if goesBelow {
                request.bounds = nil
                hasBounds = false
            } else {
                // Jobs that were parked or taken stay in the index as dead rows at least until this claim ends:
                // continue behind them.
                var start = request.bounds ?? [:]
                for (priority, readyAt) in choice.passed { start.passed(bound(priority), at: readyAt) }
                request.bounds = start
            }
            try park(choice.parked.map(\.place.id), on: connection)
            claim.jobs += try takeChosen(choice.taken, lane, worker: request.worker, on: connection)
        }
        if hasLeftSome, claim.jobs.count < room { claim.isCut = true }
        claim.waiting[lane.kind] = waiting
        return claim
    }

    /// The best jobs of the lane from the bounds on, and those that were just unparked.
    private func candidates(
        _ lane: Lane,
        _ request: ClaimRequest,
        freed: Set<Int64>,
        on connection: isolated Connection
    ) throws -> [KeyedChoice.Candidate] {
        try connection.query(
            """
            with picked as materialized (
            \(picked([lane], request, onlyOpen: false))
            )
            select j.id, j.limit_key, j.priority, (extract(epoch from \(Self.readyAt)) * 1000000)::bigint
            from \(tables.jobs) j
            where j.id = any(array(select id from picked) || \(freed.sorted())::bigint[])
            and j.queue = \(lane.queue)
            and \(request.crashed)
            order by j.priority, j.run_at, j.id
            limit \(request.limit)
            """,
            into: { (id: Int64, key: String?, priority: Int16, readyAt: Int64) in
                KeyedChoice.Candidate(
                    key: key.map(ExactText.init),
                    place: .init(priority: priority, readyAt: readyAt, id: id)
                )
            }
        )
    }

    /// How many more jobs of each of the keys may run.
    private func rooms(
        for keys: Set<ExactText>,
        _ lane: Lane,
        _ perKey: Int32,
        from floor: Int64,
        on connection: isolated Connection
    ) throws -> [ExactText: Int64] {
        let texts = keys.sorted().map(\.text)
        var rooms = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int64(perKey)) })
        let running = try connection.query(
            countPerKey(lane.kind, from: floor, "j.limit_key = any(\(texts)::text[])"),
            as: (String, Int64).self
        )
        for (key, count) in running { rooms[ExactText(key), default: 0] -= count }
        return rooms
    }

    private func park(_ jobs: [Int64], on connection: isolated Connection) throws {
        guard !jobs.isEmpty else { return }
        try connection.execute(
            """
            update \(tables.jobs)
            set state = 'parked', parked_for = 'limit'
            where id = any(\(jobs)::bigint[])
            """
        )
    }

    private func takeChosen(
        _ jobs: [Int64],
        _ lane: Lane,
        worker: Int64,
        on connection: isolated Connection
    ) throws -> [ClaimedJob] {
        guard !jobs.isEmpty else { return [] }
        return try connection.query(take("\(jobs)::bigint[]", [lane], worker: worker), as: ClaimRow.self)
            .map { ClaimedJob($0, of: worker) }
    }
}
