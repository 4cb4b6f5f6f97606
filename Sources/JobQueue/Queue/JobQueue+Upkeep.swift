package import Postgres

extension JobQueue {
    /// Takes jobs of one registration away from handlers that did not stop at their deadline when told to.
    ///
    /// Takes each that is still held under its lease and whose row is not locked.
    ///
    /// The attempt counts. A job that used up its usual attempts and whose kind must not be discarded, so that
    /// `alarmed` holds its policy, waits for the policy's alarm interval, and an operator should look.
    ///
    /// Returns how many.
    func takeOverdue(
        _ jobs: [JobLease],
        alarmed: [String: RetryPolicy],
        on connection: isolated Connection
    ) throws -> Int {
        guard !jobs.isEmpty else { return 0 }
        let kinds = alarmed.keys.sorted()
        let policies = kinds.compactMap { alarmed[$0] }
        func ofKind(_ values: Statement) -> Statement { "(\(values))[array_position(\(kinds)::text[], kind::text)]" }
        let usual = ofKind("\(policies.map { Int32(clamping: $0.attempts) })::int[]")
        let alarm = ofKind("\(policies.map(\.alarmInterval.seconds))::double precision[]")
        let isExhausted: Statement =
            "coalesce(attempt >= coalesce(max_attempts, \(usual)) and \(usual) is not null, false)"
        return try connection.execute(
            """
            update \(tables.jobs)
            set state = 'scheduled',
                \(tables.unleased),
                run_at = clock_timestamp() + case when \(isExhausted) then \(alarm) else 60 end * interval '1 second',
                waiting_since = clock_timestamp(),
                exhausted_at = case when \(isExhausted) then coalesce(exhausted_at, clock_timestamp()) else exhausted_at end,
                errors = \(Self.appended(
                    "jsonb_build_object('attempt', attempt, 'error', 'its handler did not stop at its deadline')"
                ))
            where id = any(array(
                select id
                from \(tables.jobs)
                where \(tables.isHeld(jobs))
                for update skip locked
            ))
            """
        )
    }

    /// When a job became ready; a manual change may have written an infinite time, or one too far away to calculate
    /// with.
    static let readyAt: Statement = """
        case when run_at > '-infinity' and run_at < '9999-12-31' then run_at else created_at end
        """

    /// Since when a job could run, regardless of moving up in priority.
    static let readySince: Statement = "case when aged_at = run_at then waiting_since else \(readyAt) end"

    /// Moves jobs that have waited for long up by one priority, a hundred per lane and priority at a time.
    ///
    /// Returns how many.
    func age(_ lanes: [Lane], after wait: Duration, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            with old as materialized (
                select picked.id
                from unnest(\(lanes.map(\.queue))::text[], \(lanes.map(\.kind))::text[]) as lane(queue, kind),
                generate_series(2, 9) as level(priority),
                lateral (
                    select j.id
                    from \(tables.jobs) j
                    where j.state = 'available'
                    and j.crashes = 0
                    and \(JobTables.isLane())
                    and j.priority = level.priority
                    and j.run_at < statement_timestamp() - \(wait.seconds)::double precision * interval '1 second'
                    order by j.run_at
                    limit 100
                    for update skip locked
                ) picked
            ),
            clock as materialized (
                select clock_timestamp() as now
            )
            update \(tables.jobs)
            set priority = priority - 1,
                waiting_since = \(Self.readySince),
                aged_at = clock.now,
                run_at = clock.now
            from clock
            where id = any(array(select id from old))
            """
        )
    }

    /// Vacuums the hot table, because autovacuum may be too busy elsewhere.
    ///
    /// For a role without the right to vacuum, see ``ownerWhoVacuums(on:)``, Postgres only warns.
    func vacuum(on connection: isolated Connection) throws {
        // With the deadline of an ordinary statement it would be cut off and start over each time, and never reach the
        // indexes.
        try connection.execute("vacuum (skip_locked) \(tables.jobs)", deadline: .seconds(1800))
    }

    /// The owner of the hot table if the connection's role may not vacuum it; nil if it may.
    ///
    /// - Throws: ``PostgresError``.
    package func ownerWhoVacuums(on connection: isolated Connection) throws -> String? {
        try connection.first(
            """
            select pg_get_userbyid(c.relowner)::text
            from pg_class c
            join pg_database d on d.datname = current_database()
            where c.oid = \("\(tables.schemaName).jobs")::regclass
            and not pg_has_role(c.relowner, 'usage')
            and not pg_has_role(d.datdba, 'usage')
            -- Servers before 17 do not have this privilege.
            and not case
                when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'maintain')
                else false
            end
            """,
            as: String.self
        )
    }
}
