import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The account that an event of Apple is about.
struct EventOwner: Sendable, Hashable {
    /// The account.
    let user: UUID
    /// Which of its Apple identities; nil if a transfer does not tell which of several will move.
    let identity: UUID?
    /// Whether the account is locked out for its erasure.
    let isLockedOut: Bool
    /// Whether that erasure can no longer be cancelled.
    let isBeingErased: Bool

    /// Finds the account with a sub: by its identities, or by the sub that a transfer not yet applied will give it.
    ///
    /// Apple uses the new team's subs as soon as a transfer is accepted, for every client of that team. A sub that no
    /// account here has, or will have, belongs to nobody here and is not stored.
    ///
    /// - Throws: ``PostgresError``.
    static func find(_ sub: String, on connection: isolated Connection) throws -> EventOwner? {
        try connection.first(
            """
            with known as (
                select i.user_id, i.id as identity_id
                from auth.identities as i
                where i.provider = 'apple'
                  and i.provider_id = \(sub)
            ),
            moving as (
                select t.user_id, i.identity_id
                from accountctl.apple_transfers as t
                cross join lateral (
                    select case when count(*) = 1 then min(i.id::text)::uuid end as identity_id
                    from auth.identities as i
                    where \(TransferBooks.moves)
                ) as i
                where t.new_sub = \(sub)
                  and t.\(TransferBooks.awaitsApplying)
                  and not exists (select from known)
                order by t.id desc
                limit 1
            )
            select o.user_id, o.identity_id, r.id is not null, r.id is not null and \(DeletionBrakes.isBegunForGood)
            from (table known union all table moving) as o
            left join accountctl.deletion_requests as r
                on r.user_id = o.user_id
                and r.finished_at is null
                and r.locked_out_at is not null
            """,
            as: (UUID, UUID?, Bool, Bool).self
        ).map { EventOwner(user: $0, identity: $1, isLockedOut: $2, isBeingErased: $3) }
    }
}
