import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The unhandled rows of `credential_events`.
enum CredentialEventRows {
    /// Some of the events that are due; each is settled or postponed before the next call.
    ///
    /// Events of an account whose erasure can no longer be cancelled are left out: the erasure deletes them, too, and
    /// locks the account's rows while it does so.
    static func due(on connection: isolated Connection) throws -> [Int64] {
        try connection.query(
            """
            select e.id
            from accountctl.credential_events as e
            where e.handled_at is null
              and e.next_try_at <= statement_timestamp()
              and not exists (
                  select
                  from accountctl.deletion_requests as r
                  where r.user_id = e.user_id
                    and r.finished_at is null
                    and r.locked_out_at is not null
                    and \(DeletionBrakes.isBegunForGood)
              )
            order by e.next_try_at, e.id
            limit 500
            """,
            as: Int64.self
        )
    }

    /// Reads an unhandled event, and which identity it is about.
    static func read(
        _ id: Int64,
        on connection: isolated Connection
    ) throws -> (event: CredentialEvent, subject: EventSubject)? {
        try connection.first(
            """
            select
                e.source, e.kind, e.client_id, e.user_id, e.happened_at,
                coalesce(
                    (
                        select i.provider_id
                        from auth.identities as i
                        where i.id = e.identity_id and i.user_id = e.user_id
                    ),
                    (
                        select c.apple_sub
                        from accountctl.apple_credentials as c
                        where c.user_id = e.user_id
                          and c.client_id = e.client_id
                          -- If the event's identity was unlinked since, the held credential may be another identity's.
                          and (
                              e.identity_id is null
                              or not exists (
                                  select
                                  from auth.identities as i
                                  where i.user_id = e.user_id
                                    and i.provider = 'apple'
                                    and i.provider_id = c.apple_sub
                              )
                          )
                    )
                ),
                e.identity_id is not null
            from accountctl.credential_events as e
            where e.id = \(id)
              and e.handled_at is null
            for update of e
            """,
            as: (CredentialEvent.Source, String, String?, UUID?, Date, String?, Bool).self
        ).map { source, kind, clientID, user, happenedAt, sub, namesIdentity in
            let event = CredentialEvent(
                id: id,
                source: source,
                kind: CredentialEvent.Kind(stored: kind),
                clientID: clientID,
                user: user,
                happenedAt: happenedAt
            )
            return (event, sub.map(EventSubject.sub) ?? (namesIdentity ? .lost : .any))
        }
    }

    /// Marks an event as handled; one that is already handled stays as it is.
    static func settle(_ id: Int64, _ outcome: CredentialRules.Outcome, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.credential_events
            set handled_at = clock_timestamp(),
                outcome = \(outcome.rawValue)
            where id = \(id)
              and handled_at is null
            """
        )
    }

    /// Makes the waiting events of an account whose deletion was cancelled due now.
    static func wake(_ user: UUID, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.credential_events
            set next_try_at = clock_timestamp()
            where user_id = \(user)
              and handled_at is null
              and next_try_at > clock_timestamp()
            """
        )
    }

    /// Postpones an event, so that it does not delay others: by a minute, then twice as long each time, up to an hour.
    ///
    /// - Returns: Whether it has waited for a day; nil if it is handled.
    static func stepBack(_ id: Int64, on connection: isolated Connection) throws -> Bool? {
        try connection.first(
            """
            update accountctl.credential_events
            set tries = least(tries + 1, 1000),
                next_try_at = clock_timestamp() + least(60, 2 ^ least(tries, 6)) * interval '1 minute'
            where id = \(id)
              and handled_at is null
            returning received_at < clock_timestamp() - interval '1 day'
            """,
            as: Bool.self
        )
    }
}
