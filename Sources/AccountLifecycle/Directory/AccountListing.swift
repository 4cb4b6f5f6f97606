package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A list of accounts by ascending id, read in pages by key, so that a million of them need the memory of one page.
package struct AccountListing: Sendable {
    /// Which accounts are wanted.
    package struct Filter: Sendable {
        package var createdAfter: Date?
        package var createdBefore: Date?
        /// Last signed in at this time or later.
        package var signedInAfter: Date?
        /// Last signed in before this time; accounts that never signed in are left out.
        package var signedInBefore: Date?
        /// Not signed in since this time; accounts that never signed in are included.
        package var idleSince: Date?
        package var provider: String?
        package var isBanned: Bool?
        package var isAnonymous: Bool?
        package var isSoftDeleted: Bool?
        /// Whether the address is one of Apple's relay addresses.
        package var isRelay: Bool?
        /// Whether a legal hold forbids erasing it.
        package var isHeld: Bool?
        /// Whether a deletion request is open.
        package var isBeingDeleted: Bool?
        /// The states that an open deletion request may be in; empty for any.
        package var deletionStates: Set<DeletionState> = []

        package init() {}
    }

    /// A listed account.
    package struct Account: Sendable, Equatable {
        package let id: UUID
        package let email: String?
        package let createdAt: Date?
        package let lastSignInAt: Date?
        /// The end of the ban in force now.
        let bannedUntil: Date?
        package let deletedAt: Date?
        package let isAnonymous: Bool
        package let providers: [String]
        /// The state of its open deletion request; nil if none is open.
        let deletionState: DeletionState?
        /// Whether a legal hold forbids erasing it.
        package let isHeld: Bool

        /// The ban in force now.
        package var ban: AccountBan? { AccountBan(until: bannedUntil) }

        /// The state, in the terms of a lookup.
        package var state: AccountState {
            if let deletionState { return .deletion(deletionState) }
            if deletedAt != nil { return .softDeleted }
            return ban == nil ? .active : .banned
        }
    }

    private static let page = 2000
    private let filter: Filter

    package init(_ filter: Filter) {
        self.filter = filter
    }

    /// Counts the accounts that would be listed; scans the table.
    ///
    /// - Throws: ``HiddenAccounts`` for a role that row-level security binds; `PostgresError`.
    package func count(on connection: isolated Connection) throws -> Int {
        try HiddenAccounts.refuse(on: connection)
        return try connection.one(
            "select count(*) from auth.users as u where " + condition,
            as: Int.self,
            deadline: .forAllAccounts
        )
    }

    /// Calls `body` with each account, by ascending id, until the limit is reached.
    ///
    /// The order is that of the primary key, the only one for which every project has an index.
    ///
    /// - Parameters:
    ///   - limit: the most accounts; nil for all.
    ///   - after: the last id of an earlier listing, after which to continue.
    ///   - connection: of a role that is exempt from row-level security.
    ///   - body: takes an account.
    /// - Throws: ``HiddenAccounts`` for a role that is not exempt; `PostgresError`, and what `body` throws.
    package func forEach(
        limit: Int? = nil,
        after: UUID? = nil,
        on connection: isolated Connection,
        _ body: (Account) throws -> Void
    ) throws {
        try HiddenAccounts.refuse(on: connection)
        var last = after
        var left = limit ?? Int.max
        while left > 0 {
            let rows = try rows(after: last, limit: min(Self.page, left), on: connection)
            for account in rows { try body(account) }
            guard rows.count == min(Self.page, left) else { return }
            left -= rows.count
            last = rows.last?.id
        }
    }

    private func rows(after: UUID?, limit: Int, on connection: isolated Connection) throws -> [Account] {
        try connection.query(
            """
            select u.id, u.email::text, u.created_at, u.last_sign_in_at,
                   case when u.banned_until > now() then u.banned_until end,
                   u.deleted_at, u.is_anonymous,
                   coalesce((select array_agg(distinct i.provider order by i.provider)
                             from auth.identities as i where i.user_id = u.id), '{}'),
                   (select r.state from accountctl.deletion_requests as r
                    where r.user_id = u.id and r.finished_at is null),
                   exists (select from accountctl.holds as h where h.user_id = u.id)
            from auth.users as u
            where u.id > \(after ?? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
              and

            """ + condition
                + """

                order by u.id
                limit \(limit)
                """,
            into: Account.init,
            // A filter that few accounts pass makes one page read all of them.
            deadline: .forAllAccounts
        )
    }

    private var condition: Statement {
        var parts: [Statement] = ["true"]
        if let date = filter.createdAfter { parts.append("u.created_at >= \(date)") }
        if let date = filter.createdBefore { parts.append("u.created_at < \(date)") }
        if let date = filter.signedInAfter { parts.append("u.last_sign_in_at >= \(date)") }
        if let date = filter.signedInBefore { parts.append("u.last_sign_in_at < \(date)") }
        if let date = filter.idleSince { parts.append("(u.last_sign_in_at is null or u.last_sign_in_at < \(date))") }
        if let provider = filter.provider {
            parts.append(
                "exists (select from auth.identities as i where i.user_id = u.id and i.provider = \(provider))"
            )
        }
        if let flag = filter.isBanned { parts.append("coalesce(u.banned_until > now(), false) = \(flag)") }
        if let flag = filter.isAnonymous { parts.append("u.is_anonymous = \(flag)") }
        if let flag = filter.isSoftDeleted { parts.append("(u.deleted_at is not null) = \(flag)") }
        if let flag = filter.isRelay {
            // A scalar subquery: with `exists`, the server would examine all accounts for each page.
            parts.append(
                """
                ((select r.known_by from accountctl.relay_accounts as r where r.user_id = u.id) is not null) = \(flag)
                """
            )
        }
        if let flag = filter.isHeld {
            parts.append("exists (select from accountctl.holds as h where h.user_id = u.id) = \(flag)")
        }
        if let flag = filter.isBeingDeleted {
            parts.append(
                """
                exists (
                    select from accountctl.deletion_requests as r
                    where r.user_id = u.id and r.finished_at is null
                ) = \(flag)
                """
            )
        }
        if !filter.deletionStates.isEmpty {
            parts.append(
                """
                exists (
                    select from accountctl.deletion_requests as r
                    where r.user_id = u.id
                      and r.finished_at is null
                      and r.state = any(\(filter.deletionStates.map(\.rawValue).sorted()))
                )
                """
            )
        }
        return parts.dropFirst().reduce(parts[0]) { $0 + " and " + $1 }
    }
}
