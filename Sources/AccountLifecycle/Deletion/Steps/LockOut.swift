import Postgres

extension DeletionRun {
    /// How long the ban lasts: finite, since Supabase's auth server cannot read an infinite one.
    private static let ban = "10 years"

    /// Bans the account and ends its sessions, in one transaction with the step's own row.
    ///
    /// Everything that could have changed since the preflight is looked at again under the locks that keep it from changing.
    func lockOut() async throws -> StepResult {
        try await services.pool.withConnection { connection in
            try await connection.transaction { connection in
                try await lockOut(on: connection)
            }
        }
    }

    private func lockOut(on connection: isolated Connection) async throws -> StepResult {
        try journal.fence(connection)
        // Whoever cancels at this moment comes before or after us, not between.
        let isOpen = try connection.first(
            """
            select finished_at is null and locked_out_at is null
            from accountctl.deletion_requests
            where id = \(record.id)
            for update
            """,
            as: (Bool).self
        )
        guard isOpen == true else { return .recorded }
        let account = try connection.first(
            """
            select banned_until::text, coalesce(created_at > \(record.requestedAt), false)
            from auth.users
            where id = \(user)
            for update
            """,
            as: (String?, Bool).self
        )
        if let account, account.1 {
            return .stopped(.blocked, Situation(.otherAccount), lookAgainAfter: 3600)
        }
        // A hold placed since refers to the row that is now locked: it is there already or comes too late.
        let isHeld = try connection.one(
            "select exists (select from accountctl.holds where user_id = \(user))",
            as: (Bool).self
        )
        if isHeld { return .stopped(.held, Situation(.legalHold), lookAgainAfter: DeletionMachine.lookAgainAfter) }
        if account != nil {
            try connection.execute(
                "update auth.users set banned_until = now() + \(Self.ban)::interval where id = \(user)"
            )
            try connection.execute("delete from auth.sessions where user_id = \(user)")
            try connection.execute("delete from auth.refresh_tokens where user_id = \(userText)")
            try connection.execute("delete from auth.one_time_tokens where user_id = \(user)")
        }
        if let stop = try passBrakes(on: connection) { return stop }
        try connection.execute(
            """
            update accountctl.deletion_requests
            set locked_out_at = clock_timestamp(),
                settle_after = clock_timestamp() + \(services.policy.tokenLife.wholeSeconds) * interval '1 second',
                banned_until_before = \(account?.0)::timestamptz,
                counted_at = coalesce(counted_at, clock_timestamp()),
                apple_waiting_since = null,
                state = 'running'
            where id = \(record.id)
            """
        )
        try journal.record(.lockOut, account == nil ? .alreadyGone : .ok, StepFacts(), on: connection)
        return .recorded
    }

    /// Looks at the pause and counts the hourly ceiling, under the lock of the brakes' row.
    ///
    /// Counting without it would let two requests through where one may pass. Taken last, since every lock-out passes here.
    private func passBrakes(on connection: isolated Connection) throws -> StepResult? {
        let isPaused = try connection.one(
            "select paused_at is not null from accountctl.deletion_brakes for update",
            as: (Bool).self
        )
        if isPaused {
            return .stopped(.held, Situation(.paused), lookAgainAfter: DeletionMachine.lookAgainAfter)
        }
        guard !record.isCounted else { return nil }
        let ceiling = try services.policy.hourlyCeiling ?? defaultCeiling(on: connection)
        let (passed, wait) = try connection.one(
            """
            select
                count(*),
                coalesce(extract(epoch from min(counted_at) + interval '1 hour' - clock_timestamp())::double precision, 0)
            from (
                select counted_at
                from accountctl.deletion_requests
                where counted_at > clock_timestamp() - interval '1 hour'
                order by counted_at desc
                limit \(ceiling)
            ) as passed
            """,
            as: (Int64, Double).self
        )
        guard passed >= ceiling else { return nil }
        let until = min(max(wait, 5), DeletionMachine.lookAgainAfter)
        return .stopped(.held, Situation(.ceiling, detail: "\(ceiling) an hour"), lookAgainAfter: until)
    }

    /// The larger of 50 and 1 % of all accounts, by the server's estimate.
    private func defaultCeiling(on connection: isolated Connection) throws -> Int {
        let accounts = try connection.one(
            "select greatest(reltuples, 0)::bigint from pg_catalog.pg_class where oid = 'auth.users'::regclass",
            as: (Int64).self
        )
        return max(50, Int(accounts / 100))
    }
}
