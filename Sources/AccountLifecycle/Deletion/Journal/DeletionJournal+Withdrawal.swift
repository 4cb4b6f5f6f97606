import Postgres

/// Steps that may be taken back as long as they have done nothing that cannot be undone.
extension DeletionJournal {
    /// Takes back that a step began, unless it was done before or may have done what cannot be undone.
    func withdraw(_ step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            delete from accountctl.deletion_steps
            where request_id = \(request)
              and step = \(step.rawValue)
              and finished_at is null
              and facts is null
              and not exists (
                  select
                  from accountctl.deletion_requests as r
                  where r.id = request_id and \(DeletionBrakes.hasDealtWithCredentials)
              )
            """
        )
    }

    /// Takes back that the step at Apple began, unless a try came as far as Apple, or gave a credential up.
    func withdrawUnasked(in pool: Pool) async throws {
        try await pool.withTransaction { connection in
            try fence(connection)
            try withdraw(.revokeApple, on: connection)
        }
    }

    /// Records, in a transaction that holds the fence, that what a step does next cannot be undone: from here on it has
    /// begun, whatever becomes of it.
    func commit(to step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            -- The row may have been lost with the end of the server's log, and what it told then with it.
            insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, facts)
            values (\(request), \(step.rawValue), 1, clock_timestamp(), '{}')
            on conflict (request_id, step) do update
            set facts = coalesce(s.facts, '{}')
            """
        )
    }
}
