package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JobQueue {
    /// Reads the offsets of a zone from the server: as far back as ``CronSchedule/latest(through:within:in:)`` looks,
    /// and a year and a half ahead.
    ///
    /// - Throws: ``JobQueueError`` with field `zone` if the server does not know it.
    func zoneRules(_ zone: String, on connection: isolated Connection) throws -> ZoneRules {
        if zone == "UTC" { return .utc }
        // `at time zone` also accepts abbreviations and POSIX rules, whose sign is reversed: only names are allowed.
        let isKnown = try connection.one(
            "select exists (select from pg_timezone_names where name = \(zone))",
            as: Bool.self
        )
        guard isKnown else { throw JobQueueError.invalid("zone", "is not a time zone that the server knows: \(zone)") }
        // Zones change at multiples of 15 minutes in UTC.
        let changes = try connection.query(
            """
            with sampled as (
                select
                    instant,
                    extract(epoch from (instant at time zone \(zone)) - (instant at time zone 'UTC'))::int as shift
                from generate_series(
                    date_trunc('day', now()) - interval '402 days',
                    date_trunc('day', now()) + interval '550 days',
                    interval '15 minutes'
                ) as instant
            ),
            compared as (
                select instant, shift, lag(shift) over (order by instant) as before
                from sampled
            )
            select extract(epoch from instant)::bigint, shift
            from compared
            where before is distinct from shift
            order by instant
            """,
            as: (Int64, Int32).self
        )
        guard let first = changes.first else { return .utc }
        return ZoneRules(
            initialOffset: Int(first.1),
            transitions: changes.dropFirst().map { ZoneRules.Transition(instant: Int($0.0), offset: Int($0.1)) }
        )
    }

    /// The schedules of this release, and those that other releases left in the table, by name.
    ///
    /// - Throws: ``JobQueueError`` with field `zone` if the server does not know one; ``PostgresError``.
    package func schedules(_ known: [PeriodicJob], on connection: isolated Connection) throws -> [ScheduleRecord] {
        let now = try connection.one("select extract(epoch from now())::bigint", as: Int64.self)
        let slots = try connection.query(
            """
            select distinct on (name) name, slot, job
            from \(tables.slots)
            where not (\(Self.isAhead))
            order by name, slot desc
            """,
            as: (String, Date, Int64?).self
        )
        // Names written by hand may be encoded in two ways that compare equal in Swift.
        let last = Dictionary(slots.map { ($0.0, (slot: $0.1, job: $0.2)) }) { $0.slot < $1.slot ? $1 : $0 }
        let turnsAhead = try connection.query(
            "select name, extract(epoch from slot)::bigint from \(tables.slots) where \(Self.isAhead)",
            as: (String, Int64).self
        )
        let ahead = Dictionary(grouping: turnsAhead, by: \.0).mapValues { Set($0.map { Int($0.1) }) }
        let records = try known.map { periodic in
            let rules = try zoneRules(periodic.zone, on: connection)
            var next = periodic.schedule.next(after: Int(now), in: rules)
            while let turn = next, ahead[periodic.name]?.contains(turn) == true {
                next = periodic.schedule.next(after: turn, in: rules)
            }
            return ScheduleRecord(
                name: periodic.name,
                line: periodic.schedule.line,
                zone: periodic.zone,
                kind: periodic.job.kind,
                last: last[periodic.name]?.slot,
                job: last[periodic.name]?.job,
                next: next.map { Date(timeIntervalSince1970: Double($0)) },
                ahead: ahead[periodic.name]?.max().map { Date(timeIntervalSince1970: Double($0)) }
            )
        }
        let others = Set(last.keys).union(ahead.keys).subtracting(known.map(\.name)).map { name in
            ScheduleRecord(
                name: name,
                line: nil,
                zone: nil,
                kind: nil,
                last: last[name]?.slot,
                job: last[name]?.job,
                next: nil,
                ahead: ahead[name]?.max().map { Date(timeIntervalSince1970: Double($0)) }
            )
        }
        return (records + others).sorted { $0.name < $1.name }
    }

    /// The condition that a slot is in the future, written by a clock that was wrong; the clocks of two servers differ
    /// by less than a minute.
    static let isAhead: Statement = "slot > clock_timestamp() + interval '1 minute'"

    /// Records a schedule that has no instant in the past.
    func remember(_ periodic: PeriodicJob, at instant: Int, on connection: isolated Connection) throws {
        try connection.execute(
            """
            insert into \(tables.slots) (name, slot)
            select \(periodic.name), to_timestamp(\(Double(instant)))
            where not exists (select from \(tables.slots) where name = \(periodic.name))
            on conflict do nothing
            """
        )
    }

    /// Enqueues a periodic job for an instant, unless another worker already has.
    ///
    /// Returns whether this call enqueued it.
    ///
    /// The first instant ever seen for a name is only recorded: a new schedule does not start with a past instant.
    func enqueue(_ periodic: PeriodicJob, at instant: Int, on connection: isolated Connection) async throws -> Bool {
        try await connection.briefTransaction { connection in
            let isFirst = try connection.one(
                "select not exists (select from \(self.tables.slots) where name = \(periodic.name))",
                as: Bool.self
            )
            // The primary key decides between workers; the insert waits for a concurrent one.
            let isOurs = try connection.execute(
                """
                insert into \(self.tables.slots) (name, slot)
                values (\(periodic.name), to_timestamp(\(Double(instant))))
                on conflict do nothing
                """
            )
            // Otherwise none of these would be enqueued when it comes, because it was already handled.
            try connection.execute(
                """
                delete from \(self.tables.slots)
                where name = \(periodic.name)
                and slot > to_timestamp(\(Double(instant)))
                and \(Self.isAhead)
                """
            )
            guard isOurs == 1, !isFirst else { return false }
            let isLatest = try connection.one(
                """
                select not exists (
                    select
                    from \(self.tables.slots)
                    where name = \(periodic.name)
                    and slot > to_timestamp(\(Double(instant)))
                    and not (\(Self.isAhead))
                )
                """,
                as: Bool.self
            )
            // A worker whose schedule lags behind must not go back in time; future slots come from a wrong clock.
            guard isLatest else { return false }
            let enqueued = try self.enqueue([periodic.job], on: connection)
            try connection.execute(
                """
                update \(self.tables.slots)
                set job = \(enqueued.first?.id)
                where name = \(periodic.name)
                and slot = to_timestamp(\(Double(instant)))
                """
            )
            return true
        }
    }
}
