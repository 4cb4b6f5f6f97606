import Postgres

extension TransferBooks {
    /// Predicts what ``apply(progress:)`` would do, without writing, since a trigger on accounts may have outside
    /// effects.
    ///
    /// - Throws: ``PostgresError``.
    package func foresee() async throws -> TeamTransfer.Run {
        let transfer = transfer
        let (all, conflicts) = try await pool.withConnection { connection in
            try connection.one(
                """
                select
                    count(*),
                    count(*) filter (
                        where moving.number > 1
                        or moving.number = 1 and exists (
                            select
                            from auth.identities as other
                            where other.provider = 'apple'
                              and other.provider_id = t.new_sub
                              and other.user_id <> t.user_id
                        )
                        or moving.number = 1 and exists (
                            -- An account with the former team's relay address gets the new team's.
                            select
                            from auth.identities as i
                            join auth.users as own
                                on own.id = i.user_id
                                -- Qualified, since `public.lower(varchar)` would fit better than the server's own
                                -- function.
                                and pg_catalog.lower(own.email) = i.email
                                and not own.is_sso_user
                            join auth.users as other
                                on other.email = t.new_email
                                and other.id <> own.id
                                and not other.is_sso_user
                            where \(Self.moves)
                        )
                    )
                from accountctl.apple_transfers as t
                cross join lateral (select count(*) from auth.identities as i where \(Self.moves)) as moving(number)
                where t.client_id = \(transfer.clientID)
                  and t.target_team = \(transfer.targetTeam)
                  and t.\(Self.awaitsApplying)
                """,
                as: (Int, Int).self,
                deadline: .forAllAccounts
            )
        }
        var run = TeamTransfer.Run()
        (run.done, run.conflicts) = (all - conflicts, conflicts)
        return run
    }
}
