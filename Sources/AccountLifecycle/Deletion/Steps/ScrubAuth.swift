import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Removes what the cascade leaves in the auth schema, by user id alone: an e-mail address may be somebody else's by
/// now.
enum AuthScrub {
    /// How many rows of each kind were removed or cleaned for one account.
    struct Counts: Sendable, Hashable {
        var flowStates = 0
        var refreshTokens = 0
        var auditEntries = 0
        var uploads = 0

        var total: Int { flowStates + refreshTokens + auditEntries + uploads }

        /// As the step records them.
        var byName: [String: Int] {
            [
                "flow_states": flowStates, "refresh_tokens": refreshTokens, "audit_entries": auditEntries,
                "uploads": uploads,
            ]
        }
    }

    /// The whole log is read; the usual deadline is for statements with an index.
    private static let deadline = Duration.seconds(1800)

    /// Scrubs in one pass for those of the accounts whose requests nothing stops, and tells for each what there was;
    /// nil for the others.
    ///
    /// The log, which may take half an hour to read, is read before anything is written. Where somebody is stopped
    /// while the pass writes, only that is taken back, and done for the rest with the brakes held from the beginning.
    ///
    /// - Throws: ``Braked`` when somebody is stopped all the same, by another account under the id for one.
    static func pass(for users: [UUID], keptBuckets: Set<String>, pool: Pool) async throws -> [Counts?] {
        let (readFor, entries) = try await pool.withConnection { connection in
            let released = try DeletionBrakes.released(users, on: connection)
            return (released, try auditEntries(of: released, on: connection))
        }
        guard !readFor.isEmpty else { return users.map { _ in nil } }
        for holdsFirst in [false, true] {
            do {
                return try await pool.withTransaction { connection -> [Counts?] in
                    if holdsFirst { try DeletionBrakes.hold(of: readFor, on: connection) }
                    let released = Set(try DeletionBrakes.released(readFor, on: connection))
                    let counts = try scrub(Array(released), entries, keptBuckets, on: connection)
                    try DeletionBrakes.hold(of: readFor, on: connection)
                    guard try Set(DeletionBrakes.released(readFor, on: connection)) == released else { throw Braked() }
                    return users.map { released.contains($0) ? counts[$0] ?? Counts() : nil }
                }
            } catch is Braked {}
        }
        throw Braked()
    }

    /// Scrubs for many accounts, and tells for each what there was; what lies in kept buckets stays.
    private static func scrub(
        _ users: [UUID],
        _ entries: [UUID],
        _ keptBuckets: Set<String>,
        on connection: isolated Connection
    ) throws -> [UUID: Counts] {
        let texts = users.map(\.text)
        var counts: [UUID: Counts] = [:]
        func count(_ ids: [String?], _ field: WritableKeyPath<Counts, Int>) {
            for user in ids.compactMap({ $0.flatMap(UUID.init(uuidString:)) }) where users.contains(user) {
                counts[user, default: Counts()][keyPath: field] += 1
            }
        }
        count(
            try connection.query(
                AuthFlows.deleting(of: users, onlyOpen: false, on: connection),
                as: String?.self
            ),
            \.flowStates
        )
        count(
            try connection.query(
                "\(AccountSessions.deletingOldTokens(of: users)) returning user_id::text",
                as: String?.self
            ),
            \.refreshTokens
        )
        // Unfinished uploads never became objects; the API that could name them needs keys of another kind.
        count(
            try connection.query(
                """
                delete from storage.s3_multipart_uploads as u
                using unnest(\(texts)) as a (id)
                -- Of nobody, it is that of the account in whose folder it lies, as an object is.
                where a.id = coalesce(
                        lower(nullif(u.owner_id, '')),
                        case when strpos(u.key, '/') > 0 then lower(split_part(u.key, '/', 1)) end
                    )
                  and u.bucket_id <> all(\(keptBuckets.sorted()))
                returning a.id
                """,
                as: String?.self
            ),
            \.uploads
        )
        count(try scrubAuditLog(texts, entries, on: connection), \.auditEntries)
        return counts
    }

    /// Those entries of the audit log that name one of the accounts.
    ///
    /// The ids in the documents have no index: one pass serves all accounts.
    private static func auditEntries(of users: [UUID], on connection: isolated Connection) throws -> [UUID] {
        guard !users.isEmpty else { return [] }
        let texts = users.map(\.text)
        return try connection.query(
            """
            select e.id
            \(entriesNaming(texts))
            """,
            as: UUID.self,
            deadline: deadline
        )
    }

    /// Where to read entries `e` that name one of the accounts as the actor `a`, the subject `s` or by a provider's
    /// name `p`.
    ///
    /// The document is `r.payload`, less what the server takes and cannot read: nearly all have no such escape, and are
    /// read as they are.
    private static func entriesNaming(_ users: [String]) -> Statement {
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

    /// Takes what is personal out of audit entries; the entries stay.
    ///
    /// Of the actor where the account acted, of the subject where it was acted upon: an administrator who deleted it
    /// stays named. What an entry tells besides is about the account where it acted itself, and names it in more than
    /// one way: an identity that was unlinked stands there with the provider's name for the person, which for e-mail
    /// and phone is the user id. Of that only kinds stay.
    private static func scrubAuditLog(
        _ users: [String],
        _ entries: [UUID],
        on connection: isolated Connection
    ) throws -> [String?] {
        try connection.query(
            """
            with found as materialized (
                select
                    e.id,
                    r.payload::jsonb as payload,
                    a.id is not null as is_actor,
                    coalesce(lower(r.payload -> 'traits' ->> 'user_id') = a.id, true) as is_about_actor,
                    s.id is not null or p.id is not null as is_subject,
                    a.id as actor,
                    s.id as subject,
                    p.id as provider
                \(entriesNaming(users))
                  and e.id = any(\(entries))
            ),
            scrubbed as (
                update auth.audit_log_entries as e
                set payload = (
                        case when f.is_actor then
                            f.payload - array['actor_id', 'actor_username', 'actor_name']
                        else
                            f.payload
                        end
                        || case
                            when jsonb_typeof(f.payload -> 'traits') is distinct from 'object' then '{}'
                            when f.is_actor and f.is_about_actor then
                                jsonb_build_object(
                                    'traits',
                                    (
                                        select coalesce(jsonb_object_agg(t.key, t.value), '{}')
                                        from jsonb_each(f.payload -> 'traits') as t
                                        where t.key in ('provider', 'provider_type', 'channel', 'factor_type')
                                    )
                                )
                            when f.is_subject then
                                jsonb_build_object(
                                    'traits',
                                    (f.payload -> 'traits')
                                    - array['user_id', 'user_email', 'user_phone', 'provider_id', 'identity_id']
                                )
                            else '{}'
                        end
                    )::json,
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
}

extension DeletionRun {
    /// Removes what the cascade leaves in the auth schema, together with every request that waits for it; what was
    /// removed when the step was done before counts with it.
    func scrubAuth() async throws -> StepResult {
        guard let found = try await services.scrubs.answer(for: user) else { throw Braked() }
        let before = try await services.pool.withConnection { try journal.counts(of: .scrubAuth, on: $0) }
        let counts = before.merging(found.byName, uniquingKeysWith: +)
        guard counts.values.contains(where: { $0 > 0 }) else { return .done(.nothingFound, StepFacts()) }
        return .done(.ok, StepFacts(counts: counts))
    }
}
