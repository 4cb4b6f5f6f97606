import Postgres

/// Removes what is no longer needed: nothing refers to it, and it would be kept forever.
enum DeletionPruning {
    /// How many rows of a table are removed at a time: a backlog is removed over several runs.
    private static let batch = 5_000

    /// Removes what is due, a batch of each kind.
    static func run(on connection: isolated Connection) throws {
        let kinds = [
            settledCodes, strangersEvents, settledRevocations, cancelledRequests, oldStatusTokens, goneCreations,
        ]
        for deleting in kinds { try connection.execute(deleting) }
    }

    /// Removes codes that were settled more than a day ago; each sign-in brings one.
    ///
    /// Of the codes of an account and client id whose grant is unknown, the newest stays: it decides what an erasure
    /// reports.
    private static let settledCodes: Statement = """
        delete from accountctl.authorization_codes
        where id in (
            select c.id
            from accountctl.authorization_codes as c
            where c.settled_at < now() - interval '1 day'
              and (
                  c.state <> 'grant_unknown'
                  or exists (
                      select
                      from accountctl.authorization_codes as newer
                      where newer.user_id = c.user_id
                        and newer.client_id is not distinct from c.client_id
                        and newer.state = 'grant_unknown'
                        and newer.id > c.id
                  )
              )
            limit \(batch)
        )
        """

    /// Removes events for unknown accounts, or for accounts erased before they came, as our own revocations cause them.
    ///
    /// Kept as long as Apple could deliver one again.
    private static let strangersEvents: Statement = """
        delete from accountctl.credential_events
        where id in (
            select id
            from accountctl.credential_events
            where user_id is null
              and handled_at is not null
              and received_at < now() - interval '90 days'
            limit \(batch)
        )
        """

    /// Removes revocations that were settled long ago: their outcome is recorded with the request.
    private static let settledRevocations: Statement = """
        delete from accountctl.pending_revocations
        where id in (
            select p.id
            from accountctl.pending_revocations as p
            where p.settled_at < now() - interval '90 days'
              and not exists (
                  select
                  from accountctl.pending_revocations as waiting
                  where waiting.request_id = p.request_id
                    and waiting.state = 'waiting'
              )
            limit \(batch)
        )
        """

    /// Removes requests that were cancelled long ago.
    ///
    /// There is nothing to prove, and a later request is independent of them; nor does anything depend on the hash of
    /// an account that has gone since.
    private static let cancelledRequests: Statement = """
        delete from accountctl.deletion_requests
        where id in (
            select r.id
            from accountctl.deletion_requests as r
            where r.state = 'cancelled'
              and r.finished_at < now() - interval '90 days'
              and not exists (select from accountctl.pending_revocations as p where p.request_id = r.id)
            limit \(batch)
        )
        """

    /// Removes status tokens of requests that ended long ago: the app shows once how a deletion ended.
    ///
    /// No token is issued after its request has ended.
    private static let oldStatusTokens: Statement = """
        delete from accountctl.deletion_status_tokens
        where token_hash in (
            select t.token_hash
            from accountctl.deletion_status_tokens as t
            join accountctl.deletion_requests as r on r.id = t.request_id
            where t.created_at < now() - interval '90 days'
              and r.finished_at < now() - interval '90 days'
            limit \(batch)
        )
        """

    /// Clears the creation times of accounts that are gone.
    ///
    /// A worker of an earlier release does not know this column, and leaves it as it is if it ends a request during an
    /// upgrade.
    private static let goneCreations: Statement = """
        update accountctl.deletion_requests
        set account_created_at = null
        where user_id is null and account_created_at is not null
        """
}
