package import Postgres

/// Revocations of ours that Apple should have told of, as it does of each, whoever revoked.
package enum UnheardRevocations {
    /// How many accounts were locked out within thirty days, then revoked at Apple and erased, where nothing of Apple's
    /// came in that time; zero where anything did.
    ///
    /// Apple tells soon after the lock-out, however long the erasure takes; of those of the last day it still may.
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
                  -- Apple's own alone have one.
                  where notification_id is not null
                    and received_at > now() - interval '30 days'
              )
            """,
            as: Int.self
        )
    }
}
