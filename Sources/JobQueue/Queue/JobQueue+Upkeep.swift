package import Postgres

extension JobQueue {
    /// Takes jobs of one registration from its own handlers, which did not stop at their deadline when told: each that
    /// is still held under its lease, and whose row nobody has locked.
    ///
    /// The attempt counts. Of the kinds that must not be given up, whose policies `alarmed` holds, a job that used up
    /// its usual attempts waits for as long as its alarm, and somebody should look.
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

    /// When a job became ready; a hand may have written a time without end, or too far away to be reckoned from.
    static let readyAt: Statement = """
        case when run_at > '-infinity' and run_at < '9999-12-31' then run_at else created_at end
        """

    /// Since when a job could run, whatever moving it up did to its place in the line.
    static let readySince: Statement = "case when aged_at = run_at then waiting_since else \(readyAt) end"

    /// Moves jobs that have waited for long up by one priority, a hundred of each lane and priority at a time.
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

    /// Removes dead rows of the hot table, which autovacuum may be too busy elsewhere to do.
    ///
    /// For whoever may not, see ``ownerWhoVacuums(on:)``, Postgres only warns.
    func vacuum(on connection: isolated Connection) throws {
        // Cut off at the limit of an ordinary statement it would begin anew each time, and never come to the indexes.
        try connection.execute("vacuum (skip_locked) \(tables.jobs)", deadline: .seconds(1800))
    }

    /// The owner of the hot table where the connection's role may not vacuum it; nil where it may.
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
            -- Servers before 17 know no such right.
            and not case
                when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'maintain')
                else false
            end
            """,
            as: String.self
        )
    }
}
