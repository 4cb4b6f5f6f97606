package import Postgres

extension JobQueue {
    /// The unfinished jobs that have these unique keys.
    ///
    /// - Throws: ``PostgresError``.
    package func find(keys: [String], on connection: isolated Connection) throws -> [JobRecord] {
        guard !keys.isEmpty else { return [] }
        return try records("\(liveColumns) where j.unique_key = any(\(keys)) order by j.id", on: connection)
    }

    /// The ids of jobs that had a unique key and ended in one of these states, latest first.
    ///
    /// - Throws: ``PostgresError``.
    package func ids(
        ofEnded states: [JobState],
        withKey key: String,
        limit: Int,
        on connection: isolated Connection
    ) throws -> [Int64] {
        guard !states.isEmpty else { return [] }
        return try connection.query(
            """
            select id
            from \(tables.history)
            where unique_key = \(key)
            and outcome::text = any(\(states.map(\.rawValue)))
            -- A job that a manual change put there twice counts once.
            group by id
            order by max(finished_at) desc, id desc
            limit \(limit)
            """,
            as: Int64.self
        )
    }

    /// The condition that an unfinished job has a unique key, as an expression.
    package func hasJob(key: Statement) -> Statement {
        "exists (select from \(tables.jobs) as j where j.unique_key = \(key))"
    }

    /// Locks the unfinished jobs that have these unique keys until the transaction ends.
    ///
    /// Locks in the order in which ``runNow(keys:on:)`` does. For callers that lock rows of their own which a job's
    /// worker locks after its job.
    ///
    /// - Throws: ``PostgresError``.
    package func lock(keys: [String], on connection: isolated Connection) throws {
        try connection.execute(
            """
            select
            from \(tables.jobs)
            where unique_key = any(\(keys))
            order by id
            for no key update
            """
        )
    }

    /// Makes the scheduled jobs that have these unique keys available; a running one runs once more if it would wait.
    ///
    /// Waits for the row lock of a running job that is being written. A caller that locks rows which such a job also
    /// locks calls ``lock(keys:on:)`` first. Does not wake workers: see ``wakeAtCommit(_:on:)``.
    ///
    /// - Returns: How many jobs it woke.
    /// - Throws: ``PostgresError``.
    @discardableResult
    package func runNow(keys: [String], on connection: isolated Connection) throws -> Int {
        guard !keys.isEmpty else { return 0 }
        // In a fixed order: of two callers that wake the same jobs, the second waits for the first. Available jobs are
        // locked as well: a claim before the caller's commit would not see what the job is woken for, and nobody would
        // wake it again.
        return try connection.execute(
            """
            with woken as materialized (
                select id, state
                from \(tables.jobs)
                where unique_key = any(\(keys)) and state in ('available', 'scheduled', 'running')
                order by id
                for update
            )
            update \(tables.jobs)
            set run_at = case
                    -- A running job is known to be woken by this being later than its claim; the clock may have been
                    -- set back since.
                    when state = 'running' then greatest(clock_timestamp(), claimed_at + interval '1 microsecond')
                    else clock_timestamp()
                end,
                state = case when state = 'scheduled' then 'available' else state end
            where id = any(array(select id from woken where state <> 'available'))
            """
        )
    }
}
