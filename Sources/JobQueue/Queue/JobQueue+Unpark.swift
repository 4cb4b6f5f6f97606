import Postgres

/// Unparking of jobs that waited for room under the limit of their keys, under the lock of their kind's limit row.
extension JobQueue {
    /// Makes parked jobs of the known keys available, as many of each key as it has room for and at most `most` in all,
    /// and returns their ids.
    ///
    /// Keys whose first jobs are the most urgent come first. Jobs of keys without room are not read.
    func unparkKnown(
        _ kind: String,
        _ waiting: inout WaitingKeys,
        perKey: Int32,
        from floor: Int64,
        atMost most: Int,
        on connection: isolated Connection
    ) throws -> Set<Int64> {
        guard !waiting.places.isEmpty else { return [] }
        let known = waiting.places.sorted { $0.key < $1.key }
        let keys = known.map(\.key.text)
        let isAhead: Statement = """
            and (j.priority, j.run_at, j.id)
                >= (asked.priority, 'epoch'::timestamptz + asked.since * interval '1 microsecond', asked.id)
            """
        let rows = try connection.query(
            """
            with \(running(kind, from: floor, "j.limit_key = any(\(keys)::text[])")),
            asked as materialized (
                select known.*, \(perKey) - coalesce(running.count, 0) as room
                from unnest(
                    \(keys)::text[],
                    \(known.map(\.value.priority))::smallint[],
                    \(known.map(\.value.readyAt))::bigint[],
                    \(known.map(\.value.id))::bigint[]
                ) as known(limit_key, priority, since, id)
                left join running on running.limit_key = known.limit_key
                where \(perKey) > coalesce(running.count, 0)
                order by known.priority, known.since, known.id
            ),
            chosen as materialized (
                select asked.limit_key, parked.id, parked.priority, parked.run_at, parked.created_at
                from asked,
                lateral (
                \(parked(kind, "asked", isAhead))
                ) as parked
                limit \(most)
            ),
            \(unparkingChosen)
            select limit_key, room, null::smallint, null::bigint, null::bigint
            from asked
            union all
            select limit_key, null, priority, \(readyMicroseconds), id
            from chosen
            """,
            as: (String, Int64?, Int16?, Int64?, Int64?).self
        )
        var freed: Set<Int64> = []
        var rooms: [ExactText: Int64] = [:]
        for (text, room, priority, readyAt, id) in rows {
            let key = ExactText(text)
            if let room { rooms[key, default: 0] += room }
            guard let priority, let readyAt, let id else { continue }
            rooms[key, default: 0] -= 1
            freed.insert(id)
            waiting.unparked(key, at: .init(priority: priority, readyAt: readyAt, id: id))
        }
        // If `most` was reached, the remaining keys were not searched.
        guard freed.count < most else { return freed }
        for (key, left) in rooms where left > 0 { waiting.emptied(key) }
        return freed
    }

    /// Makes parked jobs of all other keys available, as ``unparkKnown(_:_:perKey:from:atMost:on:)`` does for the known
    /// ones.
    ///
    /// Walks from key to key in the index, which is how keys become known.
    func unparkOthers(
        _ kind: String,
        _ waiting: inout WaitingKeys,
        perKey: Int32,
        from floor: Int64,
        atMost most: Int,
        on connection: isolated Connection
    ) throws -> Set<Int64> {
        let known = waiting.places.keys.sorted().map(\.text)
        let next = { (before: Statement) -> Statement in
            """
            (
                select j.limit_key, j.priority, j.run_at, j.created_at, j.id
                from \(self.tables.jobs) j
                where j.state = 'parked'
                and j.kind = \(kind)
                and j.limit_key > keys.limit_key
                and \(before)
                order by j.kind, j.limit_key, j.priority, j.run_at, j.id
                limit 1
            )
            """
        }
        let rows = try connection.query(
            """
            with recursive known(limit_key) as materialized (
                select key collate "C"
                from unnest(\(known)::text[]) as key
            ),
            -- Walks the gaps between the known keys, and so reads none of their entries, live or dead.
            keys(limit_key, before, priority, run_at, created_at, id) as (
                select coalesce(lag(limit_key) over (order by limit_key), ''), limit_key, null::smallint,
                    null::timestamptz, null::timestamptz, null::bigint
                from known
                union all
                select coalesce(max(limit_key), ''), null, null, null, null, null
                from known
                union all
                select next.limit_key, keys.before, next.priority, next.run_at, next.created_at, next.id
                from keys,
                lateral (
                    \(next("keys.before is null"))
                    union all
                    \(next("j.limit_key < keys.before"))
                ) as next
            ),
            \(running(kind, from: floor, "j.limit_key is not null")),
            chosen as materialized (
                select keys.limit_key, parked.id, parked.priority, parked.run_at, parked.created_at
                from (
                    select keys.limit_key, \(perKey) - coalesce(running.count, 0) as room
                    from keys
                    left join running on running.limit_key = keys.limit_key
                    where keys.id is not null
                    order by keys.priority, keys.run_at, keys.id
                ) as keys,
                lateral (
                \(parked(kind, "keys", ""))
                ) as parked
                limit \(most)
            ),
            \(unparkingChosen)
            select limit_key, priority, \(readyMicroseconds), id, false
            from keys
            where id is not null
            union all
            select limit_key, priority, \(readyMicroseconds), id, true
            from chosen
            """,
            as: (String, Int16, Int64, Int64, Bool).self
        )
        var freed: Set<Int64> = []
        for (key, priority, readyAt, id, isFreed) in rows {
            let place = WaitingKeys.Place(priority: priority, readyAt: readyAt, id: id)
            if isFreed {
                freed.insert(id)
                waiting.unparked(ExactText(key), at: place)
            } else {
                waiting.waits(ExactText(key), at: place)
            }
        }
        return freed
    }

    /// The common table expression `running`: how many jobs of each key run.
    private func running(_ kind: String, from floor: Int64, _ keys: Statement) -> Statement {
        """
        running as materialized (
        \(countPerKey(kind, from: floor, keys))
        )
        """
    }

    /// How many running jobs of a kind each key has, for the keys that a condition on `j.limit_key` selects.
    func countPerKey(_ kind: String, from floor: Int64, _ keys: Statement) -> Statement {
        """
        select j.limit_key, count(*) as count
        from \(tables.jobs) j
        where \(JobTables.isRunning("\(kind)", from: "\(floor)"))
        and \(keys)
        group by j.limit_key
        """
    }

    /// The first waiting jobs of a key, a row of `keys`, as many as the key has room for.
    private func parked(_ kind: String, _ keys: Statement, _ bound: Statement) -> Statement {
        """
        select j.id, j.priority, j.run_at, j.created_at
        from \(tables.jobs) j
        where j.state = 'parked'
        and j.parked_for = 'limit'
        and j.kind = \(kind)
        and j.limit_key = \(keys).limit_key
        \(bound)
        order by j.priority, j.run_at, j.id
        limit greatest(0, \(keys).room)
        for update skip locked
        """
    }

    /// Makes the `chosen` jobs available.
    private var unparkingChosen: Statement {
        """
        unparked as (
            update \(tables.jobs)
            set state = 'available', parked_for = null
            where id = any(array(select id from chosen))
        )
        """
    }

    private var readyMicroseconds: Statement { "(extract(epoch from \(Self.readyAt)) * 1000000)::bigint" }
}
