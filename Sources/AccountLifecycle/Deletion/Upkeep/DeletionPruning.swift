import Postgres

/// Removes rows whose use is over: nothing refers to them, and they would be kept for ever.
enum DeletionPruning {
    /// How many rows of a table go at a time: whatever has piled up goes over several runs.
    private static let batch = 5_000

    /// Removes what is due, of each kind some.
    static func run(on connection: isolated Connection) throws {
        let kinds = [settledCodes, strangersEvents, settledRevocations, cancelledRequests, oldStatusTokens]
        for deleting in kinds { try connection.execute(deleting) }
    }

    /// Removes codes that were settled a day ago, one of which comes with each sign-in.
    ///
    /// The newest grant of a client id that nobody knows anything about stays: it decides what an erasure says.
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

    /// Removes events of nobody we know, or of accounts erased before they came: our own revocations come back so.
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

    /// Removes revocations that were settled long ago: what became of them stands with the request.
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
    /// There is nothing to prove, and a later request finds its own; nor is anything known by the hash of an account
    /// that has gone since.
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

    /// Removes status tokens of requests that ended long ago: the app shows how a deletion ended once.
    ///
    /// No token is younger than its request's end.
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
}
