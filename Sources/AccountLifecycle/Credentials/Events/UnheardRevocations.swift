package import Postgres

/// Revocations of ours that Apple should have told of, as it does of each, whoever revoked.
package enum UnheardRevocations {
    /// How many accounts were erased and revoked at Apple within thirty days, where nothing of Apple's came in that
    /// time; zero where anything did.
    ///
    /// Those of the last day may still be told of.
    ///
    /// - Throws: ``PostgresError``.
    package static func count(on connection: isolated Connection) throws -> Int {
        try connection.one(
            """
            select count(*)
            from accountctl.deletion_requests
            where apple_outcome = \(StepOutcome.revoked.rawValue)
              and finished_at between now() - interval '30 days' and now() - interval '1 day'
              and not exists (
                  select
                  from accountctl.credential_events
                  -- Apple's own alone have one.
                  where notification_id is not null
                    and received_at > now() - interval '30 days'
              )
            """,
            as: Int.self
        )
    }
}
