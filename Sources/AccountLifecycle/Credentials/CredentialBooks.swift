package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Reads events and credentials for display; what it returns contains no token and no address.
package enum CredentialBooks {
    /// An event for display.
    package struct EventRecord: Sendable, Hashable {
        /// The row's id.
        package let id: Int64
        /// `apple`, `device` or `check`.
        package let source: String
        /// What was reported.
        package let kind: String
        /// The client id it is about.
        package let clientID: String?
        /// The account.
        package let user: UUID?
        /// When it happened, by the clock of its source.
        package let happenedAt: Date
        /// When it was received.
        package let receivedAt: Date
        /// When it was handled; nil while it waits.
        package let handledAt: Date?
        /// Its outcome; nil while it waits.
        package let outcome: String?
    }

    /// The kinds of events that are handled here.
    package static let kinds = CredentialEvent.Kind.known

    /// Whether an event may be of this kind, which includes any type that Apple has not documented.
    package static func isKind(_ name: String) -> Bool {
        kinds.contains(name) || name.hasPrefix(CredentialEvent.Kind.prefixOfOthers)
    }

    /// Which events are listed.
    package struct EventFilter: Sendable, Hashable {
        /// Events of this account only; nil for all accounts.
        package var user: UUID?
        /// Events of one of these kinds; empty for all.
        package var kinds: [String] = []
        /// Events with one of these outcomes, where `waiting` stands for those not handled yet; empty for all.
        package var outcomes: [String] = []
        /// The most events.
        package var limit = 100

        /// All events.
        package init() {}
    }

    /// A held credential for display.
    package struct CredentialRecord: Sendable, Hashable {
        /// The row's id.
        package let id: Int64
        /// The account.
        package let user: UUID
        /// The client id it was issued to.
        package let clientID: String
        /// The key it is sealed with.
        package let sealingKey: String
        /// When Apple issued it.
        package let obtainedAt: Date
        /// When Apple was last asked about it.
        package let checkedAt: Date?
        /// When Apple last confirmed that it is valid.
        package let lastLiveAt: Date?
        /// Consecutive refusals.
        package let doubts: Int
        /// When Apple may be asked again.
        package let checkAfter: Date
    }

    /// Lists events, the newest first.
    ///
    /// - Throws: ``PostgresError``.
    package static func events(_ filter: EventFilter, on connection: isolated Connection) throws -> [EventRecord] {
        try connection.query(
            """
            select \(EventRecord.columns)
            from accountctl.credential_events
            where (\(filter.user)::uuid is null or user_id = \(filter.user))
              and (cardinality(\(filter.kinds)::text[]) = 0 or kind = any(\(filter.kinds)::text[]))
              and (
                cardinality(\(filter.outcomes)::text[]) = 0
                or coalesce(outcome, 'waiting') = any(\(filter.outcomes)::text[])
              )
            order by id desc
            limit \(filter.limit)
            """,
            into: EventRecord.init
        )
    }

    /// One event by its id; nil when there is none.
    ///
    /// - Throws: ``PostgresError``.
    package static func event(_ id: Int64, on connection: isolated Connection) throws -> EventRecord? {
        try connection.first(
            """
            select \(EventRecord.columns)
            from accountctl.credential_events
            where id = \(id)
            """,
            into: EventRecord.init
        )
    }

    /// The result of a request to handle an event again.
    package enum Replay: String, Sendable, Hashable {
        /// Enqueued.
        case enqueued
        /// There is no such event.
        case unknown
        /// It belongs to no account, so there is nothing to handle.
        case unknownAccount = "unknown_account"
        /// Its address was not stored: a forwarding event takes effect when it is received, or never.
        case notKept = "not_kept"
    }

    /// Has an event handled again by the current rules: a stale event stays stale.
    ///
    /// - Throws: ``PostgresError``.
    package static func replay(_ id: Int64, on connection: isolated Connection) async throws -> Replay {
        try await connection.atomically { connection in
            let found = try connection.first(
                """
                select kind, user_id
                from accountctl.credential_events
                where id = \(id)
                for update
                """,
                as: (String, UUID?).self
            )
            guard let (kind, user) = found else { return .unknown }
            guard user != nil else { return .unknownAccount }
            switch CredentialEvent.Kind(stored: kind) {
            case .emailEnabled, .emailDisabled: return .notKept
            case .consentRevoked, .accountDeleted, .grantGone, .stateAuthorized, .stateRevoked, .stateNotFound,
                .stateTransferred, .other:
                break
            }
            try connection.execute(
                """
                update accountctl.credential_events
                set handled_at = null, outcome = null
                where id = \(id)
                """
            )
            try CredentialJobs.enqueueHandling(of: id, on: connection)
            return .enqueued
        }
    }

    /// Lists held credentials, newest first: of one account, of one client id, or all.
    ///
    /// - Throws: ``PostgresError``.
    package static func credentials(
        of user: UUID?,
        clientID: String? = nil,
        limit: Int = 100,
        on connection: isolated Connection
    ) throws -> [CredentialRecord] {
        try connection.query(
            """
            select \(CredentialRecord.columns)
            from accountctl.apple_credentials
            where (\(user)::uuid is null or user_id = \(user))
              and (\(clientID)::text is null or client_id = \(clientID))
            order by id desc
            limit \(limit)
            """,
            into: CredentialRecord.init
        )
    }

    /// One held credential by its id; nil when there is none.
    ///
    /// - Throws: ``PostgresError``.
    package static func credential(_ id: Int64, on connection: isolated Connection) throws -> CredentialRecord? {
        try connection.first(
            """
            select \(CredentialRecord.columns)
            from accountctl.apple_credentials
            where id = \(id)
            """,
            into: CredentialRecord.init
        )
    }
}

extension CredentialBooks.EventRecord {
    /// The columns of a record, in its order.
    fileprivate static let columns: Statement =
        "id, source, kind, client_id, user_id, happened_at, received_at, handled_at, outcome"
}

extension CredentialBooks.CredentialRecord {
    /// The columns of a record, in its order.
    fileprivate static let columns: Statement =
        "id, user_id, client_id, sealing_key_id, obtained_at, checked_at, last_live_at, doubts::bigint, check_after"
}
