package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Looks accounts up by whatever somebody was told.
///
/// Each branch of the lookup is written for an index that Supabase's own schema has: nobody but its owner can add one. Plans and times of
/// each are in the reference on Supabase, section 1.3.
package struct AccountDirectory: Sendable {
    /// How a term is compared.
    package enum Comparison: Sendable {
        /// The whole value.
        case exact
        /// The start of the value, by index.
        case prefix
        /// Anywhere in the value, by reading the whole table.
        case contains
    }

    /// The most rows one lookup shows.
    package var limit = 50
    private let hashKey: HashKey?

    /// - Parameter hashKey: the key of keyed hashes, by which an erased account is found again; nil when there is none.
    package init(hashKey: HashKey?) {
        self.hashKey = hashKey
    }

    /// Looks a term up.
    ///
    /// - Parameters:
    ///   - term: what to look for.
    ///   - comparison: how to compare; only e-mail addresses and usernames are compared otherwise than exactly.
    ///   - connection: a role that row-level security does not bind; another one would find nothing and believe it.
    /// - Returns: the accounts, or what is known of an erased one.
    /// - Throws: ``HiddenAccounts`` for a role that is bound; `PostgresError`.
    package func find(
        _ term: LookupTerm,
        _ comparison: Comparison = .exact,
        on connection: isolated Connection
    ) throws -> LookupAnswer {
        try HiddenAccounts.refuse(on: connection)
        let isInstalled = try Self.isInstalled(on: connection)
        var hits = try candidates(term, comparison, isInstalled: isInstalled, on: connection)
        let isCut = hits.count > limit
        if isCut { hits = Array(hits.prefix(limit)) }
        // A receipt's number may be a phone number or a username as well: then both are told.
        let erased = isInstalled && (hits.isEmpty || term.receipt != nil) ? try erased(term, on: connection) : []
        return LookupAnswer(
            term: term,
            matches: hits,
            isCut: isCut,
            erased: erased,
            isErasureUnknown: hits.isEmpty && erased.isEmpty && term.userID != nil && hashKey == nil
        )
    }

    private func candidates(
        _ term: LookupTerm,
        _ comparison: Comparison,
        isInstalled: Bool,
        on connection: isolated Connection
    ) throws -> [AccountMatch] {
        var branches: [Statement] = []
        switch comparison {
        case .exact:
            branches = Self.exactBranches(term, isInstalled: isInstalled)
            if try term.username != nil && Self.hasUsernames(on: connection) {
                branches.append("select id, 'username' from public.profiles where username = \(term.username)")
            }
        case .prefix:
            let text = term.email ?? term.text.lowercased()
            branches.append(
                """
                (select user_id, 'email' from auth.identities
                 where email like \(Self.pattern(text) + "%") limit \(limit + 1))
                """
            )
            if try Self.hasUsernames(on: connection) {
                // The range is served by the unique index; what the collation lets through besides is taken out again.
                branches.append(
                    """
                    (select id, 'username' from public.profiles
                     where username >= \(term.text) and username < \(term.text + "\u{10FFFF}")
                       and starts_with(username, \(term.text)) limit \(limit + 1))
                    """
                )
            }
        case .contains:
            let pattern = "%" + Self.pattern(term.text) + "%"
            branches.append("(select id, 'email' from auth.users where email ilike \(pattern) limit \(limit + 1))")
            if try Self.hasUsernames(on: connection) {
                branches.append(
                    "(select id, 'username' from public.profiles where username ilike \(pattern) limit \(limit + 1))"
                )
            }
        }
        guard var hits = branches.first else { return [] }
        for branch in branches.dropFirst() { hits += " union all " + branch }
        return try matches(hits, isInstalled: isInstalled, on: connection)
    }

    /// One branch for each thing that the term may be; each costs one look into its index.
    private static func exactBranches(_ term: LookupTerm, isInstalled: Bool) -> [Statement] {
        var branches: [Statement] = []
        if let id = term.userID {
            if term.kind != .request { branches.append("select id, 'id' from auth.users where id = \(id)") }
            if isInstalled, term.kind != .userID {
                branches.append(
                    "select user_id, 'request' from accountctl.deletion_requests where id = \(id) and user_id is not null"
                )
            }
        }
        if let email = term.email {
            // Two indexes, neither of which serves the other's form; identities know the address that a provider gave.
            branches.append("select id, 'email' from auth.users where email = \(email) and is_sso_user = false")
            branches.append(
                """
                select id, 'email' from auth.users
                where instance_id = '00000000-0000-0000-0000-000000000000' and lower(email) = \(email)
                """
            )
            branches.append("select user_id, 'email' from auth.identities where email = \(email)")
        }
        if let phone = term.phone {
            branches.append("select id, 'phone' from auth.users where phone = \(phone)")
        }
        if let provider = term.providerID {
            let (takesApple, takesOthers) = (term.kind != .providerID, term.kind != .appleSub)
            branches.append(
                """
                select user_id, case when provider = 'apple' then 'apple-sub' else 'provider-id' end
                from auth.identities
                where provider_id = \(provider)
                  and case when provider = 'apple' then \(takesApple) else \(takesOthers) end
                """
            )
        }
        return branches
    }

    private func matches(
        _ hits: Statement,
        isInstalled: Bool,
        on connection: isolated Connection
    ) throws -> [AccountMatch] {
        let deletion: Statement =
            isInstalled
            ? """
            left join lateral (
                select r.id, r.state, r.requested_at, r.legal_deadline,
                       (select s.step from accountctl.deletion_steps as s
                        where s.request_id = r.id order by s.started_at desc nulls last limit 1) as step
                from accountctl.deletion_requests as r
                where r.user_id = u.id and r.finished_at is null
                limit 1
            ) as d on true
            """
            : """
            left join (
                select null::uuid as id, null::text as state, null::timestamptz as requested_at,
                       null::timestamptz as legal_deadline, null::text as step
                where false
            ) as d on true
            """
        let isHeld: Statement =
            isInstalled ? "exists (select from accountctl.holds as h where h.user_id = u.id)" : "false"
        let rows = try connection.query(
            "with hits (id, matched) as (" + hits + ") "
                + """
                select u.id, h.matched, u.email::text, u.phone,
                       (select array_agg(distinct i.provider order by i.provider) from auth.identities as i where i.user_id = u.id),
                       u.created_at, u.last_sign_in_at, u.deleted_at,
                       case when u.banned_until > now() then u.banned_until end,
                       d.id, d.state, d.step, d.requested_at, d.legal_deadline, \(isHeld)
                from (select id, array_agg(distinct matched order by matched) as matched from hits group by id) as h
                join auth.users as u on u.id = h.id

                """ + deletion
                    + """

                    order by u.created_at desc nulls last, u.id
                    limit \(limit + 1)
                    """,
            as: (
                UUID, [String], String?, String?, [String]?, Date?, Date?, Date?, Date?, UUID?, String?, String?, Date?,
                Date?, Bool
            ).self
        )
        return rows.map { row in
            let standing: AccountStanding
            if let request = row.9, let state = row.10, let requestedAt = row.12, let legalDeadline = row.13 {
                standing = .deletion(
                    DeletionInBrief(
                        request: request,
                        state: state,
                        step: row.11,
                        requestedAt: requestedAt,
                        legalDeadline: legalDeadline
                    )
                )
            } else if let deleted = row.7 {
                standing = .softDeleted(at: deleted)
            } else if let ban = AccountBan(until: row.8) {
                standing = .banned(ban)
            } else {
                standing = .active
            }
            return AccountMatch(
                id: row.0,
                matched: row.1.compactMap(LookupKind.init(rawValue:)),
                email: row.2,
                phone: row.3,
                providers: row.4 ?? [],
                createdAt: row.5,
                lastSignInAt: row.6,
                standing: standing,
                isHeld: row.14
            )
        }
    }

    /// What is known of an account that is gone: by its user id through the keyed hash, by its request, by its receipt.
    private func erased(_ term: LookupTerm, on connection: isolated Connection) throws -> [ErasedAccount] {
        guard term.userID != nil || term.receipt != nil else { return [] }
        let account = term.kind == .request ? nil : term.userID
        let request = term.kind == .userID ? nil : term.userID
        let hash = try account.flatMap { id in
            try hashKey.map { try SubjectHash.checked(id, key: $0, on: connection).bytes }
        }
        return try connection.query(
            """
            select r.id, r.requested_at, r.finished_at, e.number
            from accountctl.deletion_requests as r
            left join accountctl.deletion_receipts as e on e.request_id = r.id
            where r.state = 'verified'
              and (
                  r.subject_hash = \(hash)
                  or r.id = \(request)
                  or r.id = (select request_id from accountctl.deletion_receipts where number = \(term.receipt))
              )
            order by r.finished_at desc
            limit \(limit)
            """,
            as: (UUID, Date, Date, Int64?).self
        )
        .map { ErasedAccount(request: $0.0, requestedAt: $0.1, erasedAt: $0.2, receipt: $0.3) }
    }

    private static func isInstalled(on connection: isolated Connection) throws -> Bool {
        try connection.one("select to_regclass('accountctl.deletion_requests') is not null", as: Bool.self)
    }

    /// Whether there is a table of profiles with usernames; an app may have none, or one of its own.
    private static func hasUsernames(on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select count(*) = 2
            from pg_attribute
            where attrelid = to_regclass('public.profiles') and attname in ('id', 'username') and not attisdropped
            """,
            as: Bool.self
        )
    }

    /// The text with the characters that `like` gives a meaning taken at their word.
    private static func pattern(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            if character == "\\" || character == "%" || character == "_" { result.append("\\") }
            result.append(character)
        }
    }
}
