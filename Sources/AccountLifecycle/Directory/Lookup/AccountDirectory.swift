package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Looks accounts up by any identifier that somebody was given.
///
/// Each branch of the lookup is written for an index that Supabase's own schema has: only the schema's owner can add
/// one.
package struct AccountDirectory: Sendable {
    /// The most rows that one lookup returns.
    package var limit = 50
    let hashKey: HashKey?

    /// - Parameter hashKey: the key of the keyed hashes by which an erased account is found; nil if there is none.
    package init(hashKey: HashKey?) {
        self.hashKey = hashKey
    }

    /// Looks a term up.
    ///
    /// - Parameters:
    ///   - term: what to look for, and how it is compared.
    ///   - connection: of a role that is exempt from row-level security; any other would take hidden accounts for
    ///     absent.
    /// - Returns: the accounts, or what is known of an erased one.
    /// - Throws: ``HiddenAccounts`` for a role that is not exempt; `PostgresError`.
    package func find(_ term: LookupTerm, on connection: isolated Connection) throws -> LookupAnswer {
        try find(term, in: .read(for: [term], on: connection), on: connection)
    }

    /// Looks several terms up, each by itself; the answers are in the order of `terms`.
    ///
    /// - Throws: As ``find(_:on:)-(LookupTerm,_)``.
    package func find(_ terms: [LookupTerm], on connection: isolated Connection) throws -> [LookupAnswer] {
        let schema = try DirectorySchema.read(for: terms, on: connection)
        return try terms.map { try find($0, in: schema, on: connection) }
    }

    private func find(
        _ term: LookupTerm,
        in schema: DirectorySchema,
        on connection: isolated Connection
    ) throws -> LookupAnswer {
        var hits: [AccountMatch] = []
        if let candidates = candidates(term, in: schema) {
            hits = try matches(
                candidates,
                isInstalled: schema.isInstalled,
                deadline: term.comparison == .contains ? .forAllAccounts : nil,
                on: connection
            )
        }
        // A receipt's number may also be a phone number or a username, and the id of an erased account may also be an
        // id at some provider: then the answer has both.
        let isAnothers = term.userID != nil && !hits.contains(where: \.isNamedByID)
        let isGoneSought = schema.isInstalled && (hits.isEmpty || term.receipt != nil || isAnothers)
        let gone = isGoneSought ? try gone(term, on: connection) : Gone()
        let isAbsent = hits.isEmpty && gone.erased.isEmpty && gone.leaving.isEmpty
        var doubt: LookupDoubt?
        if isAbsent {
            doubt = try term.doubt(in: schema) {
                try hashKey.map { try HashKeyCanary.standing(of: $0, on: connection).others }
            }
        }
        return LookupAnswer(
            term: term,
            matches: Array(hits.prefix(limit)),
            isCut: max(hits.count, gone.erased.count, gone.leaving.count) > limit,
            erased: Array(gone.erased.prefix(limit)),
            leaving: Array(gone.leaving.prefix(limit)),
            isInstalled: schema.isInstalled,
            doubt: doubt,
            usernames: schema.usernames
        )
    }

    private func matches(
        _ hits: Statement,
        isInstalled: Bool,
        deadline: Duration?,
        on connection: isolated Connection
    ) throws -> [AccountMatch] {
        let deletion: Statement =
            isInstalled
            ? """
            left join lateral (
                select r.id, r.state, r.requested_at, r.legal_deadline, \(DeletionStep.begunLast) as step
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
            """
            with hits (id, matched) as (\(hits))
            select u.id, h.matched, u.email::text, u.phone,
                   (select array_agg(distinct i.provider order by i.provider)
                    from auth.identities as i where i.user_id = u.id),
                   u.created_at, u.last_sign_in_at, u.deleted_at,
                   case when u.banned_until > now() then u.banned_until end,
                   d.id, d.state, d.step, d.requested_at, d.legal_deadline, \(isHeld)
            from (select id, array_agg(distinct matched order by matched) as matched from hits group by id) as h
            join auth.users as u on u.id = h.id
            \(deletion)
            order by u.created_at desc nulls last, u.id
            limit \(limit + 1)
            """,
            into: Hit.init,
            deadline: deadline
        )
        return rows.map(\.match)
    }

    private struct Hit {
        let id: UUID
        let matched: [String]
        let email: String?
        let phone: String?
        let providers: [String]?
        let createdAt: Date?
        let lastSignInAt: Date?
        let deletedAt: Date?
        let bannedUntil: Date?
        let request: UUID?
        let state: DeletionState?
        let step: DeletionStep?
        let requestedAt: Date?
        let legalDeadline: Date?
        let isHeld: Bool

        var standing: AccountStanding {
            if let request, let state, let requestedAt, let legalDeadline {
                let deletion = DeletionInBrief(
                    request: request,
                    state: state,
                    step: step,
                    requestedAt: requestedAt,
                    legalDeadline: legalDeadline
                )
                return .deletion(deletion)
            }
            if let deletedAt { return .softDeleted(at: deletedAt) }
            if let ban = AccountBan(until: bannedUntil) { return .banned(ban) }
            return .active
        }

        var match: AccountMatch {
            AccountMatch(
                id: id,
                matched: matched.compactMap(LookupKind.init(rawValue:)),
                email: email,
                phone: phone,
                providers: providers ?? [],
                createdAt: createdAt,
                lastSignInAt: lastSignInAt,
                standing: standing,
                isHeld: isHeld
            )
        }
    }
}
