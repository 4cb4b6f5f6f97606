import Postgres

extension JobQueue {
    /// Under the lock of the kind's limit row: lets parked jobs on whose key has room, takes up to what is wanted,
    /// parks what finds its key full.
    ///
    /// Parking keeps a thousand jobs of one busy key from being walked over at each claim. With bounds only keys that
    /// are known to wait are asked, and the others where the claim comes short.
    func claimKeyed(
        _ lane: Lane,
        perKey: Int32,
        from floor: Int64,
        _ request: ClaimRequest,
        on connection: isolated Connection
    ) throws -> LimitedClaim {
        var waiting = request.bounds.flatMap { _ in request.waiting[lane.kind] } ?? WaitingKeys()
        let room = request.limit
        // To set aside the jobs of full keys in front needs no room.
        let most = max(room, 100)
        // As old as they were: a bound may be above them.
        var freed = try unparkKnown(lane.kind, &waiting, perKey: perKey, from: floor, atMost: most, on: connection)
        // More of them may have room than a claim wants: a limit was raised.
        var hasLeftSome = freed.count >= most
        var knowsAllKeys = false
        var request = request
        // Below them lies what was not looked at yet.
        var hasBounds = request.bounds?.isEmpty == false
        var claim = LimitedClaim()
        var turns = 0
        if request.bounds == nil {
            freed = try unparkOthers(lane.kind, &waiting, perKey: perKey, from: floor, atMost: most, on: connection)
            hasLeftSome = freed.count >= most
            knowsAllKeys = true
        }
        while claim.jobs.count < room {
            // Each turn takes or parks most of what it looked at; the bound only keeps one claim short.
            guard turns < 20 else {
                claim.isCut = true
                break
            }
            request.limit = turns == 0 ? room : most
            turns += 1
            let looked = try connection.query(
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
                as: (Int64, String?, Int16, Int64).self
            )
            freed.subtract(looked.map(\.0))
            let goesBelow = looked.count < request.limit && hasBounds
            if looked.count < request.limit, !knowsAllKeys {
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
            } else if looked.isEmpty, !goesBelow {
                break
            }
            let keys = Set(looked.compactMap { $0.1.map(ExactText.init) }).sorted()
            let running = try connection.query(
                countPerKey(lane.kind, from: floor, "j.limit_key = any(\(keys.map(\.text))::text[])"),
                as: (String, Int64).self
            )
            var left = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int64(perKey)) })
            for (key, count) in running { left[ExactText(key), default: 0] -= count }
            var take: [Int64] = []
            var park: [Int64] = []
            var passed = request.bounds ?? [:]
            for (id, key, priority, readyAt) in looked {
                let isWanted = claim.jobs.count + take.count < room
                let bound = ClaimBounds.Key(lane: lane.name, priority: priority)
                if let key = key.map(ExactText.init), left[key, default: 0] <= 0 {
                    park.append(id)
                    claim.parked.append((bound, readyAt))
                    waiting.waits(key, at: .init(priority: priority, readyAt: readyAt, id: id))
                } else if isWanted {
                    if let key = key.map(ExactText.init) { left[key, default: 0] -= 1 }
                    take.append(id)
                } else {
                    continue
                }
                passed[bound] = max(passed[bound] ?? .min, readyAt)
            }
            // What was parked or taken stays in the way as dead rows until the end of this claim, at the least.
            request.bounds = goesBelow ? nil : passed
            if goesBelow { hasBounds = false }
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
                claim.jobs += try connection.query(
                    self.take("\(take)::bigint[]", [lane], worker: request.worker),
                    as: ClaimRow.self
                )
                .map { ClaimedJob($0, of: request.worker) }
            }
        }
        if hasLeftSome, claim.jobs.count < room { claim.isCut = true }
        claim.waiting[lane.kind] = waiting
        return claim
    }
}
