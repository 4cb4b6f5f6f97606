import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Removes personal data from entries of the auth server's audit log; the entries stay.
///
/// If the account acted, the actor's data is removed; if it was acted upon, the subject's: an administrator who deleted
/// the account stays named. If the account acted upon itself, the traits describe it too, in more than one way: an
/// unlinked identity is recorded with the provider's id for the person, which for e-mail and phone is the user id. Of
/// such traits only the kinds are kept.
enum AuditLogScrub {
    /// The whole log is read, while the usual deadline is meant for statements with an index.
    private static let deadline = Duration.seconds(1800)

    /// The entries that name one of the accounts.
    ///
    /// The ids inside the documents have no index: one scan serves all accounts.
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

    /// Scrubs those of the entries that name one of the accounts.
    ///
    /// - Returns: The account of each scrubbed entry, as text; several for an entry that names several.
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

    /// FROM and WHERE clauses for entries `e` that name one of the accounts as actor `a`, as subject `s` or by a
    /// provider's id `p`.
    ///
    /// `r.payload` is the document without escapes that the server stores but cannot decode; nearly all documents
    /// contain none and are used unchanged.
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

    /// A query for those of the entries that still name one of the accounts, with the role of the account in each.
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

    /// The document of an entry `f`, without the actor if that is the account.
    private static let payloadWithoutActor: Statement = """
        case when f.is_actor then
            f.payload - array['actor_id', 'actor_username', 'actor_name']
        else
            f.payload
        end
        """

    /// The replacement for the traits of an entry `f`, to merge into its document; empty if the traits stay unchanged.
    private static let traitsThatStay: Statement = """
        case
            when jsonb_typeof(f.payload -> 'traits') is distinct from 'object' then '{}'
            when f.is_actor and f.is_about_actor then jsonb_build_object('traits', \(kindsAmongTraits))
            when f.is_subject then jsonb_build_object('traits', \(traitsWithoutSubject))
            else '{}'
        end
        """

    /// What is kept of the traits if the account acted upon itself.
    private static let kindsAmongTraits: Statement = """
        (
            select coalesce(jsonb_object_agg(t.key, t.value), '{}')
            from jsonb_each(f.payload -> 'traits') as t
            where t.key in ('provider', 'provider_type', 'channel', 'factor_type')
        )
        """

    /// What is kept of the traits if somebody else acted upon the account.
    private static let traitsWithoutSubject: Statement = """
        (f.payload -> 'traits') - array['user_id', 'user_email', 'user_phone', 'provider_id', 'identity_id']
        """
}
