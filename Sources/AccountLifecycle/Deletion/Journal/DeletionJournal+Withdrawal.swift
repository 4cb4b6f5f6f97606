import Postgres

/// Steps whose beginning can be withdrawn as long as they have done nothing that cannot be undone.
extension DeletionJournal {
    /// Withdraws the beginning of a step, unless the step was done before or may have done what cannot be undone.
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

    /// Withdraws the beginning of the Apple step, unless an attempt reached Apple, or gave a credential up.
    func withdrawUnasked(in pool: Pool) async throws {
        try await pool.withTransaction { connection in
            try fence(connection)
            try withdraw(.revokeApple, on: connection)
        }
    }

    /// Records, in a transaction that holds the fence, that what a step does next cannot be undone: from here on it has
    /// begun, whatever happens.
    func commit(to step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            -- A server crash may have lost the step's row, whose commit did not wait for the disk.
            insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, facts)
            values (\(request), \(step.rawValue), 1, clock_timestamp(), '{}')
            on conflict (request_id, step) do update
            set facts = coalesce(s.facts, '{}')
            """
        )
    }
}
