import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Takes what is personal out of entries of the auth server's audit log; the entries stay.
///
/// Of the actor where the account acted, of the subject where it was acted upon: an administrator who deleted it stays
/// named. What an entry tells besides is about the account where it acted itself, and names it in more than one way: an
/// identity that was unlinked stands there with the provider's name for the person, which for e-mail and phone is the
/// user id. Of that only kinds stay.
enum AuditLogScrub {
    /// The whole log is read; the usual deadline is for statements with an index.
    private static let deadline = Duration.seconds(1800)

    /// Entries that name one of the accounts.
    ///
    /// The ids in the documents have no index: one pass serves all accounts.
    static func entries(of users: [UUID], on connection: isolated Connection) throws -> [UUID] {
        guard !users.isEmpty else { return [] }
        return try connection.query(
            """
            select e.id
            \(naming(users.map(\.text)))
            """,
            as: UUID.self,
            deadline: deadline
        )
    }

    /// Scrubs entries for the accounts that they name.
    ///
    /// - Returns: The account of each entry, as text; several where it names several.
    static func scrub(
        _ entries: [UUID],
        of users: [String],
        on connection: isolated Connection
    ) throws -> [String?] {
        try connection.query(
            """
            with found as materialized (\(found(entries, of: users))),
            scrubbed as (
                update auth.audit_log_entries as e
                set payload = (\(payloadWithoutActor) || \(traitsThatStay))::json,
                    ip_address = case when f.is_actor then '' else e.ip_address end
                from found as f
                where e.id = f.id
                returning f.actor, f.subject, f.provider
            )
            select distinct_id
            from scrubbed
            cross join lateral (
                select distinct unnest(array[actor, subject, provider])
            ) as ids (distinct_id)
            where distinct_id is not null
            """,
            as: String?.self,
            deadline: deadline
        )
    }

    /// Where to read entries `e` that name one of the accounts as the actor `a`, the subject `s` or by a provider's
    /// name `p`.
    ///
    /// The document is `r.payload`, less what the server takes and cannot read: nearly all have no such escape, and are
    /// read as they are.
    private static func naming(_ users: [String]) -> Statement {
        """
        from auth.audit_log_entries as e
        cross join lateral (
            select case
                when strpos(e.payload::text, '\\u') = 0 then e.payload
                else (\(WrittenJSON.readable("e.payload::text")))::json
            end
        ) as r (payload)
        left join unnest(\(users)) as a (id) on a.id = lower(r.payload ->> 'actor_id')
        left join unnest(\(users)) as s (id) on s.id = lower(r.payload -> 'traits' ->> 'user_id')
        left join unnest(\(users)) as p (id) on p.id = lower(r.payload -> 'traits' ->> 'provider_id')
        where (a.id is not null or s.id is not null or p.id is not null)
        """
    }

    /// A query for those of some entries that name one of the accounts still, and for what each is to it.
    private static func found(_ entries: [UUID], of users: [String]) -> Statement {
        """
        select
            e.id,
            r.payload::jsonb as payload,
            a.id is not null as is_actor,
            coalesce(lower(r.payload -> 'traits' ->> 'user_id') = a.id, true) as is_about_actor,
            s.id is not null or p.id is not null as is_subject,
            a.id as actor,
            s.id as subject,
            p.id as provider
        \(naming(users))
          and e.id = any(\(entries))
        """
    }

    /// The document of an entry `f`, without the account where that acted.
    private static let payloadWithoutActor: Statement = """
        case when f.is_actor then
            f.payload - array['actor_id', 'actor_username', 'actor_name']
        else
            f.payload
        end
        """

    /// What takes the place of the traits of an entry `f`; nothing where they stay as they are.
    private static let traitsThatStay: Statement = """
        case
            when jsonb_typeof(f.payload -> 'traits') is distinct from 'object' then '{}'
            when f.is_actor and f.is_about_actor then jsonb_build_object('traits', \(kindsAmongTraits))
            when f.is_subject then jsonb_build_object('traits', \(traitsWithoutSubject))
            else '{}'
        end
        """

    /// Of traits about an account that acted itself.
    private static let kindsAmongTraits: Statement = """
        (
            select coalesce(jsonb_object_agg(t.key, t.value), '{}')
            from jsonb_each(f.payload -> 'traits') as t
            where t.key in ('provider', 'provider_type', 'channel', 'factor_type')
        )
        """

    /// Of traits about an account that somebody else acted upon.
    private static let traitsWithoutSubject: Statement = """
        (f.payload -> 'traits') - array['user_id', 'user_email', 'user_phone', 'provider_id', 'identity_id']
        """
}
