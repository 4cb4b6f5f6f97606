package import Postgres

/// Our own revocations, of which Apple should have sent an event, as it does for each, whoever revoked.
package enum UnheardRevocations {
    /// How many accounts were locked out within thirty days, revoked at Apple and erased, if Apple sent no event in
    /// that time.
    ///
    /// It is zero if Apple sent any event. Apple sends its event soon after the lock-out, however long the erasure
    /// takes; for erasures finished within the last day it may still come.
    ///
    /// - Throws: ``PostgresError``.
    package static func count(on connection: isolated Connection) throws -> Int {
        try connection.one(
            """
            select count(*)
            from accountctl.deletion_requests
            where apple_outcome = \(StepOutcome.revoked.rawValue)
              and locked_out_at > now() - interval '30 days'
              and finished_at < now() - interval '1 day'
              and not exists (
                  select
                  from accountctl.credential_events
                  -- Only events from Apple have one.
                  where notification_id is not null
                    and received_at > now() - interval '30 days'
              )
            """,
            as: Int.self
        )
    }
}
