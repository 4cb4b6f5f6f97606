import MailRelay
package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Reads all there is to say about an account, as of one moment.
    ///
    /// Parts that this database does not have (profiles, our own schema) stay empty.
    ///
    /// - Parameters:
    ///   - match: the account, from a lookup.
    ///   - hashKey: the key by which ended requests and operations are found; nil leaves these out.
    ///   - connection: a role that row-level security does not bind.
    /// - Returns: nil when the account has gone meanwhile.
    /// - Throws: `PostgresError`.
    package static func read(
        _ match: AccountMatch,
        hashKey: HashKey?,
        on connection: isolated Connection
    ) async throws -> AccountReport? {
        try await connection.transaction(isolation: .repeatableRead, readOnly: true) { connection in
            guard let sign = try sign(match.id, on: connection) else { return nil }
            let (isInstalled, hasProfiles, hasStorage) = try connection.one(
                """
                select to_regclass('accountctl.deletion_requests') is not null, to_regclass('public.profiles') is not null,
                       to_regclass('storage.objects') is not null
                """,
                as: (Bool, Bool, Bool).self
            )
            let identities = try identities(match.id, on: connection)
            let relay =
                isInstalled
                ? try RelayDirectory.entry(of: match.id, on: connection)
                : RelayDirectory.Entry(of: match.id, sign: sign, identities)
            let hash = try hashKey.map { try SubjectHash.checked(match.id, key: $0, on: connection).bytes }
            let deletions = isInstalled ? try deletions(match.id, hash, on: connection) : []
            let profile = hasProfiles ? try profile(match.id, on: connection) : nil
            let isSmall = try hasStorage && isStorageSmall(on: connection)
            return AccountReport(
                id: match.id,
                standing: match.standing,
                sign: sign,
                identities: identities,
                relay: relay,
                credentials: isInstalled ? try credentials(match.id, on: connection) : [],
                events: isInstalled ? try events(match.id, on: connection) : [],
                profile: profile,
                files: hasStorage ? try files(match.id, profile, byOwner: isSmall, on: connection) : [],
                filesAreWhole: isSmall,
                deletions: deletions,
                jobs: isInstalled ? try jobs(deletions, on: connection) : [],
                holds: isInstalled ? try holds(match.id, on: connection) : [],
                dependents: try dependents(match.id, on: connection),
                operations: isInstalled ? try operations(hash, on: connection) : []
            )
        }
    }

    private static func sign(_ id: UUID, on connection: isolated Connection) throws -> Sign? {
        try connection.first(
            """
            select email::text, email_confirmed_at, phone, phone_confirmed_at, created_at, last_sign_in_at,
                   case when banned_until > now() then banned_until end, deleted_at,
                   is_anonymous, is_sso_user,
                   (select count(*) from auth.sessions as s where s.user_id = u.id),
                   (select count(*) from auth.mfa_factors as f where f.user_id = u.id)
            from auth.users as u
            where id = \(id)
            """,
            as: (
                String?, Date?, String?, Date?, Date?, Date?, Date?, Date?, Bool, Bool, Int, Int
            ).self
        )
        .map { row in
            Sign(
                email: row.0,
                emailConfirmedAt: row.1,
                phone: row.2,
                phoneConfirmedAt: row.3,
                createdAt: row.4,
                lastSignInAt: row.5,
                ban: AccountBan(until: row.6),
                deletedAt: row.7,
                isAnonymous: row.8,
                isSSO: row.9,
                sessions: row.10,
                factors: row.11
            )
        }
    }

    /// Apple's claim stands in one of two places, as a boolean or as text, depending on the age of the row.
    private static func identities(_ id: UUID, on connection: isolated Connection) throws -> [Identity] {
        try connection.query(
            """
            select provider, provider_id, email,
                   case lower(coalesce(
                       identity_data -> 'custom_claims' ->> 'is_private_email', identity_data ->> 'is_private_email'
                   ))
                       when 'true' then true
                       when 'false' then false
                   end,
                   created_at, last_sign_in_at
            from auth.identities
            where user_id = \(id)
            order by created_at, provider
            """,
            as: (String, String, String?, Bool?, Date?, Date?).self
        )
        .map { row in
            Identity(
                provider: row.0,
                providerID: row.1,
                email: row.2,
                isPrivateEmail: row.3,
                createdAt: row.4,
                lastSignInAt: row.5
            )
        }
    }

    private static func credentials(_ id: UUID, on connection: isolated Connection) throws -> [Credential] {
        try connection.query(
            """
            select client_id, obtained_at, checked_at
            from accountctl.apple_credentials
            where user_id = \(id)
            order by client_id
            """,
            as: (String, Date, Date?).self
        )
        .map { Credential(clientID: $0.0, obtainedAt: $0.1, checkedAt: $0.2) }
    }

    private static func events(_ id: UUID, on connection: isolated Connection) throws -> [Event] {
        try connection.query(
            """
            select kind, source, happened_at, outcome
            from accountctl.credential_events
            where user_id = \(id)
            order by received_at desc
            limit 5
            """,
            as: (String, String, Date, String?).self
        )
        .map { Event(kind: $0.0, source: $0.1, happenedAt: $0.2, outcome: $0.3) }
    }

    /// An app's own table of profiles may be keyed otherwise: then it is left to the list of dependents.
    private static func profile(_ id: UUID, on connection: isolated Connection) throws -> [String: String?]? {
        let isKeyedByID = try connection.one(
            """
            select exists (
                select from pg_attribute
                where attrelid = 'public.profiles'::regclass and attname = 'id' and atttypid = 'uuid'::regtype
            )
            """,
            as: Bool.self
        )
        guard isKeyedByID else { return nil }
        let pairs = try connection.query(
            """
            select e.key, e.value
            from public.profiles as p, jsonb_each_text(to_jsonb(p)) as e
            where p.id = \(id) and e.key <> 'id'
            """,
            as: (String, String?).self
        )
        return pairs.isEmpty ? nil : Dictionary(pairs.map { ($0.0, $0.1) }) { first, _ in first }
    }

    /// Whether the table of files is read in no time.
    private static func isStorageSmall(on connection: isolated Connection) throws -> Bool {
        try connection.one("select pg_relation_size('storage.objects') < 67108864", as: Bool.self)
    }

    /// By the folder named after the account, which the index on the lower-case name serves (Swift's upper-case ids are found too), by
    /// the name in the profile, and by the owner, for which there is no index.
    private static func files(
        _ id: UUID,
        _ profile: [String: String?]?,
        byOwner: Bool,
        on connection: isolated Connection
    ) throws -> [Files] {
        let text = id.uuidString.lowercased()
        let namesFiles = profile?.keys.contains("avatar_url") == true
        let url = profile?["avatar_url"] ?? nil
        let isOwned: Statement = "(o.owner = \(id) or lower(o.owner_id) = \(text))"
        let isOwnedOrNobodys: Statement =
            "(" + isOwned + " or (o.owner is null and coalesce(o.owner_id, '') = ''))"
        var mine: Statement =
            """
            select o.id, o.bucket_id, o.name, o.metadata
            from storage.buckets as b
            join storage.objects as o
                on o.bucket_id = b.id
                and lower(o.name) collate "C" >= \(text + "/")
                and lower(o.name) collate "C" < \(text + "0")
            where
            """ + isOwnedOrNobodys
        mine +=
            """

            union
            select o.id, o.bucket_id, o.name, o.metadata
            from avatar as a
            join storage.objects as o on o.bucket_id = \(AccountObjects.bucketOfProfiles) and o.name = a.key
            where
            """ + isOwnedOrNobodys
        if byOwner {
            mine +=
                """

                union
                select o.id, o.bucket_id, o.name, o.metadata
                from storage.objects as o
                where
                """ + isOwned
        }
        return try connection.query(
            """
            with avatar as (
                select \(AccountObjects.key(in: "u.url")) as key
                from (values (\(url)::text)) as u (url)
            ),
            mine as (
            """ + mine + """

                )
                select m.bucket_id, count(*), coalesce(sum((m.metadata ->> 'size')::bigint), 0)::bigint,
                       case
                           when \(namesFiles) and m.bucket_id = \(AccountObjects.bucketOfProfiles)
                               then count(*) filter (where m.name is distinct from (select key from avatar))
                       end
                from mine as m
                group by m.bucket_id
                order by m.bucket_id
                """,
            as: (String, Int, Int64, Int?).self
        )
        .map { Files(bucket: $0.0, count: $0.1, bytes: $0.2, unused: $0.3) }
    }

    private static func deletions(_ id: UUID, _ hash: [UInt8]?, on connection: isolated Connection) throws -> [Deletion]
    {
        try connection.query(
            """
            select r.id, r.state, r.origin, r.requested_at, r.run_after, r.legal_deadline, r.finished_at, e.number
            from accountctl.deletion_requests as r
            left join accountctl.deletion_receipts as e on e.request_id = r.id
            where r.user_id = \(id) or r.subject_hash = \(hash)
            order by r.requested_at desc
            limit 20
            """,
            as: (UUID, String, String, Date, Date, Date, Date?, Int64?).self
        )
        .map { row in
            Deletion(
                request: row.0,
                state: row.1,
                origin: row.2,
                requestedAt: row.3,
                runAfter: row.4,
                legalDeadline: row.5,
                finishedAt: row.6,
                receipt: row.7
            )
        }
    }

    private static func jobs(_ deletions: [Deletion], on connection: isolated Connection) throws -> [Job] {
        let keys = deletions.filter { $0.finishedAt == nil }
            .map { "account.delete:" + $0.request.uuidString.lowercased() }
        guard !keys.isEmpty else { return [] }
        return try connection.query(
            """
            select id, kind, state::text, run_at, attempt
            from accountctl.jobs
            where unique_key = any (\(keys))
            order by id
            """,
            as: (Int64, String, String, Date, Int).self
        )
        .map { Job(id: $0.0, kind: $0.1, state: $0.2, runAt: $0.3, attempt: $0.4) }
    }

    private static func holds(_ id: UUID, on connection: isolated Connection) throws -> [Hold] {
        try connection.query(
            """
            select id, reason, placed_by, placed_at
            from accountctl.holds
            where user_id = \(id) and released_at is null
            order by id
            """,
            as: (Int64, String, String, Date).self
        )
        .map { Hold(id: $0.0, reason: $0.1, placedBy: $0.2, placedAt: $0.3) }
    }

    /// Tables of the app that refer to the account directly.
    ///
    /// Rows are counted where an index leads to them or the table is small.
    private static func dependents(_ id: UUID, on connection: isolated Connection) throws -> [Dependent] {
        let keys = try connection.query(
            """
            select n.nspname::text, c.relname::text, a.attname::text,
                   case k.confdeltype
                       when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default'
                       when 'r' then 'restrict' else 'no action'
                   end,
                   pg_relation_size(c.oid) < 8388608
                   or exists (
                       select from pg_index as i
                       where i.indrelid = c.oid and i.indisvalid and i.indpred is null and i.indkey[0] = a.attnum
                   )
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            join pg_attribute as a on a.attrelid = c.oid and a.attnum = k.conkey[1]
            where k.contype = 'f'
              and k.confrelid = 'auth.users'::regclass
              and cardinality(k.conkey) = 1
              and k.conparentid = 0
              and n.nspname not in ('auth', 'storage', 'accountctl')
              and a.atttypid = 'uuid'::regtype
            order by 1, 2, 3
            """,
            as: (String, String, String, String, Bool).self
        )
        return try keys.map { schema, table, column, onDelete, isCheap in
            let rows =
                isCheap
                ? try connection.one(
                    """
                    select count(*) from \(identifier: schema).\(identifier: table)
                    where \(identifier: column) = \(id)
                    """,
                    as: Int.self
                ) : nil
            return Dependent(table: schema + "." + table, column: column, onDelete: onDelete, rows: rows)
        }
    }

    private static func operations(_ hash: [UInt8]?, on connection: isolated Connection) throws -> [Operation] {
        guard let hash else { return [] }
        return try connection.query(
            """
            select logged_at, operator, action, reason
            from accountctl.operator_log
            where subject_hash = \(hash)
            order by logged_at desc
            limit 10
            """,
            as: (Date, String, String, String?).self
        )
        .map { Operation(at: $0.0, who: $0.1, action: $0.2, reason: $0.3) }
    }
}

extension RelayDirectory.Entry {
    /// By the same rule as `accountctl.relay_accounts`, for a database without our schema; nil when it is no relay address.
    fileprivate init?(of user: UUID, sign: AccountReport.Sign, _ identities: [AccountReport.Identity]) {
        let apple = identities.last { $0.provider == "apple" }
        guard let address = (apple?.email ?? sign.email)?.lowercased(), let domains = try? RelayDomains(),
            domains.isRelay(address, appleClaim: apple?.isPrivateEmail)
        else { return nil }
        self.init(
            userID: user,
            address: address,
            knownBy: apple?.isPrivateEmail == nil ? "domain" : "claim",
            forwarding: "unknown",
            forwardingChangedAt: nil
        )
    }
}
