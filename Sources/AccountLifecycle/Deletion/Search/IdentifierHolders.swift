import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds other accounts that have the same e-mail address, telephone number or provider id: a person who signed up
/// again, or one whose second account shares an address.
enum IdentifierHolders {
    static func find(_ targets: [SearchTarget], in pool: Pool) async throws -> [Identifier: Set<UUID>] {
        try await pool.reading { connection -> [Identifier: Set<UUID>] in
            try connection.lookUpInCatalogAlone()
            return try find(targets, on: connection)
        }
    }

    private static func find(
        _ targets: [SearchTarget],
        on connection: isolated Connection
    ) throws -> [Identifier: Set<UUID>] {
        let identifiers = Set(targets.flatMap(\.identifiers).filter(\.canBeUsedAgain))
        guard !identifiers.isEmpty else { return [:] }
        // Joined below, so that the server hashes them, since the tables are read as a whole. Functions on a varchar
        // are qualified: `public.lower(varchar)` would be a better match than the server's own.
        let values = identifiers.map(\.value)
        let rows = try connection.query(
            """
            select u.id, v.kind, v.value
            from auth.users as u
            cross join lateral (values
                ('email', pg_catalog.lower(u.email)),
                ('email', pg_catalog.lower(u.email_change)),
                ('phone', pg_catalog.regexp_replace(u.phone, '[^0-9]', '', 'g')),
                ('phone', pg_catalog.regexp_replace(u.phone_change, '[^0-9]', '', 'g'))
            ) as v (kind, value)
            join unnest(\(values)) as sought (value) on sought.value = v.value
            union
            select i.user_id, v.kind, v.value
            from auth.identities as i
            cross join lateral (values ('email', lower(i.email)), ('provider_id', lower(i.provider_id))) as v (kind, value)
            join unnest(\(values)) as sought (value) on sought.value = v.value
            union
            -- An enrolled number counts, verified or not.
            select f.user_id, 'phone', sought.value
            from auth.mfa_factors as f
            join unnest(\(values)) as sought (value)
                on sought.value = regexp_replace(to_jsonb(f) ->> 'phone', '[^0-9]', '', 'g')
            union
            select c.user_id, 'provider_id', sought.value
            from accountctl.apple_credentials as c
            join unnest(\(values)) as sought (value) on sought.value = lower(c.apple_sub)
            union
            select r.user_id, 'email', sought.value
            from accountctl.relay_addresses as r
            join unnest(\(values)) as sought (value) on sought.value = lower(r.address)
            union
            -- What a team transfer gives an account counts even before it is applied.
            select t.user_id, v.kind, v.value
            from accountctl.apple_transfers as t
            cross join lateral (values
                ('provider_id', lower(t.old_sub)),
                ('provider_id', lower(t.new_sub)),
                ('email', lower(t.new_email))
            ) as v (kind, value)
            join unnest(\(values)) as sought (value) on sought.value = v.value
            """,
            as: (UUID, String, String).self,
            deadline: IdentifierSearch.deadline
        )
        var holders: [Identifier: Set<UUID>] = [:]
        for (user, kind, value) in rows {
            guard let kind = Identifier.Kind(rawValue: kind) else { continue }
            // By bytes, as the server compared them.
            for identifier in identifiers
            where identifier.kind == kind && identifier.value.utf8.elementsEqual(value.utf8) {
                holders[identifier, default: []].insert(user)
            }
        }
        return holders
    }
}
