package import MailRelay
package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Reads everything there is to report about an account, in one snapshot.
    ///
    /// Parts that this database does not have (profiles, our own schema) stay empty.
    ///
    /// - Parameters:
    ///   - match: the account, from a lookup.
    ///   - hashKey: the key by which ended requests and operations are found; nil leaves these out.
    ///   - relayDomains: the list for a database that has none.
    ///   - folders: who owns the unowned files that the profile names, by folder.
    ///   - counting: the deadline for counting the rows of all tables, and for those of one table if counting all at
    ///     once took longer.
    ///   - connection: of a role that is exempt from row-level security.
    /// - Returns: nil if the account has been deleted in the meantime.
    /// - Throws: `PostgresError`.
    package static func read(
        _ match: AccountMatch,
        hashKey: HashKey?,
        relayDomains: RelayDomains,
        folders: AvatarFolders = AvatarFolders(),
        counting: (all: Duration, one: Duration) = (all: .seconds(2), one: .milliseconds(500)),
        on connection: isolated Connection
    ) async throws -> AccountReport? {
        try await connection.reading(isolation: .repeatableRead) { connection -> AccountReport? in
            guard let authUser = try authUser(match.id, on: connection) else { return nil }
            let (isInstalled, hasProfiles, hasStorage) = try connection.one(
                """
                select \(AccountLifecycle.isThere), to_regclass('public.profiles') is not null,
                    to_regclass('storage.objects') is not null
                """,
                as: (Bool, Bool, Bool).self
            )
            let identities = try identities(match.id, on: connection)
            let relay =
                isInstalled
                ? try RelayDirectory.entry(of: match.id, on: connection)
                : RelayDirectory.Entry(of: match.id, authUser: authUser, identities, relayDomains)
            let hash = try hashKey.map { try SubjectHash.checked(match.id, key: $0, on: connection).bytes }
            let deletions = isInstalled ? try deletions(match.id, hash, on: connection) : []
            let open = deletions.first { $0.finishedAt == nil }
            let profile = hasProfiles ? try profile(match.id, on: connection) : nil
            let isSmall = try hasStorage && isSmall(.files, on: connection)
            return AccountReport(
                id: match.id,
                standing: match.standing,
                authUser: authUser,
                identities: identities,
                relay: relay,
                credentials: isInstalled ? try credentials(match.id, on: connection) : [],
                mark: isInstalled ? try mark(match.id, on: connection) : nil,
                events: isInstalled ? try events(match.id, on: connection) : [],
                profile: profile,
                files: hasStorage
                    ? try await files(match.id, profile, in: folders, byOwner: isSmall, on: connection) : [],
                filesAreWhole: isSmall,
                deletions: deletions,
                brakes: try open.map { try StandingBrakes.read(of: $0.request, on: connection) },
                jobs: isInstalled ? try jobs(deletions, on: connection) : [],
                holds: isInstalled ? try DeletionDesk.holds(of: match.id, on: connection) : [],
                dependents: try await dependents(match.id, counting: counting, on: connection),
                operations: isInstalled ? try operations(hash, on: connection) : []
            )
        }
    }

    private static func authUser(_ id: UUID, on connection: isolated Connection) throws -> AuthUser? {
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
            into: AuthUser.init
        )
    }

    /// The identities; Apple's claim is in one of two places, as a boolean or as text, depending on the age of the row.
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
                   last_sign_in_at
            from auth.identities
            where user_id = \(id)
            order by created_at, provider, provider_id
            """,
            into: Identity.init
        )
    }

    private static func credentials(_ id: UUID, on connection: isolated Connection) throws -> [Credential] {
        try connection.query(
            """
            select client_id, checked_at
            from accountctl.apple_credentials
            where user_id = \(id)
            order by client_id
            """,
            into: Credential.init
        )
    }

    private static func mark(_ id: UUID, on connection: isolated Connection) throws -> Mark? {
        try connection.first(
            """
            select m.state, m.since
            from accountctl.apple_identity_marks as m
            where m.user_id = \(id)
              and not exists (
                  select
                  from auth.identities as i
                  where i.user_id = m.user_id
                    and i.provider = 'apple'
                    -- GoTrue sets `last_sign_in_at` when it creates the identity; each later sign-in updates only
                    -- `updated_at`.
                    and greatest(i.last_sign_in_at, i.updated_at) > m.since
              )
            """,
            into: Mark.init
        )
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
            into: Event.init
        )
    }

    /// The profile; nil if the app keys its table otherwise, which then appears only among the dependents.
    private static func profile(_ id: UUID, on connection: isolated Connection) throws -> [String: ProfileValue]? {
        let columns = try connection.query(
            """
            select
                attname::text,
                atttypid = 'uuid'::regtype,
                atttypid = 'timestamptz'::regtype,
                atttypid in (\(CastsToJSON.types))
            from pg_attribute
            where attrelid = 'public.profiles'::regclass and attnum > 0 and not attisdropped
            """,
            as: (String, Bool, Bool, Bool).self
        )
        guard columns.contains(where: { $0.0 == "id" && $0.1 }) else { return nil }
        let values = columns.filter { $0.0 != "id" }
            .map { (name, _, isMoment, hasCast) -> Statement in
                let column: Statement = "p.\(identifier: name)"
                let moment = isMoment ? column : "null::timestamptz"
                let value = hasCast ? CastsToJSON.text(of: column) : column
                return "(\(name)::text, pg_catalog.to_json(\(value)), \(moment))"
            }
        guard let first = values.first else { return nil }
        let pairs = try connection.query(
            // Text comes without its quotes, everything else as JSON. The server cannot decode every escape that JSON
            // allows.
            """
            select
                v.name,
                case json_typeof(v.value)
                    when 'null' then null
                    when 'string' then
                        case when strpos(v.value::text, '\\u') > 0 then v.value::text else v.value #>> '{}' end
                    else v.value::text
                end,
                case when isfinite(v.moment) then v.moment end
            from public.profiles as p
            cross join lateral (values \(values.dropFirst().reduce(first) { $0 + ", " + $1 })) as v (name, value, moment)
            where p.id = \(id)
            """,
            as: (String, String?, Date?).self
        )
        if pairs.isEmpty { return nil }
        return Dictionary(pairs.map { ($0.0, ProfileValue(text: $0.1, moment: $0.2)) }) { first, _ in first }
    }
}

extension RelayDirectory.Entry {
    /// Applies the rule of `accountctl.relay_accounts` in a database without our schema; nil if it is no relay address.
    fileprivate init?(
        of user: UUID,
        authUser: AccountReport.AuthUser,
        _ identities: [AccountReport.Identity],
        _ domains: RelayDomains
    ) {
        let apple = identities.last { $0.provider == "apple" }
        let address = [apple?.email, authUser.email].lazy.compactMap(\.self).first { !$0.isEmpty }?.lowercased()
        guard authUser.deletedAt == nil, let address, domains.isRelay(address, appleClaim: apple?.isPrivateEmail)
        else { return nil }
        self.init(
            userID: user,
            address: address,
            knownBy: apple?.isPrivateEmail == nil ? .domain : .claim,
            forwarding: .unknown,
            forwardingChangedAt: nil
        )
    }
}
