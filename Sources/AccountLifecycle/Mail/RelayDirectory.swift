package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Accounts with a relay address, and whether mail reaches them.
package enum RelayDirectory {
    /// How an address is known to be one of the relay.
    package enum Origin: String, Sendable, Hashable, PostgresDecodable {
        /// By Apple's claim.
        case claim
        /// By its domain, without a claim from Apple.
        case domain
    }

    /// Whether the relay forwards to a person, according to Apple's newest event.
    package enum Forwarding: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
        case on
        case off
        /// Apple has not reported anything yet.
        case unknown
    }

    /// How many accounts have a relay address, by what is known about it.
    package struct Count: Sendable, Hashable {
        /// How the addresses are known to be of the relay.
        package let knownBy: Origin
        /// The part of the address after the at sign.
        package let domain: String
        /// Whether mail to them is forwarded.
        package let forwarding: Forwarding
        /// The number of accounts.
        package let accounts: Int64
    }

    /// Counts relay addresses by origin, domain and forwarding.
    package static func counts(on connection: isolated Connection) throws -> [Count] {
        try connection.query(
            """
            select known_by, split_part(address, '@', -1), forwarding, count(*)
            from accountctl.relay_accounts
            group by 1, 2, 3
            order by 4 desc, 1, 2, 3
            """,
            as: (Origin, String, Forwarding, Int64).self,
            deadline: .forAllAccounts
        )
        .map { Count(knownBy: $0.0, domain: $0.1, forwarding: $0.2, accounts: $0.3) }
    }

    /// Counts the relay addresses of a limited number of accounts: for millions, a count would exceed a statement's
    /// time limit.
    ///
    /// Accounts are taken by id, which is random: the oldest may all be from before anybody signed in with Apple.
    ///
    /// - Parameters:
    ///   - most: The most accounts to examine.
    ///   - connection: The connection.
    /// - Returns: How many of these have one, and whether they were all accounts.
    /// - Throws: `PostgresError`.
    package static func count(
        among most: Int,
        on connection: isolated Connection
    ) throws -> (accounts: Int, isOfAll: Bool) {
        let (looked, accounts) = try connection.one(
            """
            select count(*), count(relay.user_id)
            from (select id from auth.users order by id limit \(most)) as looked
            left join accountctl.relay_accounts as relay on relay.user_id = looked.id
            """,
            as: (Int, Int).self
        )
        return (accounts, looked < most)
    }

    /// One account's relay address.
    package struct Entry: Sendable, Hashable {
        /// The account.
        package let userID: UUID
        /// The address.
        package let address: String
        /// How it is known to be a relay address.
        package let knownBy: Origin
        /// Whether mail to it is forwarded.
        package let forwarding: Forwarding
        /// When forwarding was last switched.
        package let forwardingChangedAt: Date?
    }

    /// Accounts with a relay address, sorted by id.
    package static func entries(
        forwarding: Forwarding? = nil,
        limit: Int,
        on connection: isolated Connection
    ) throws -> [Entry] {
        try connection.query(
            """
            select user_id, address, known_by, forwarding, forwarding_changed_at
            from accountctl.relay_accounts
            where (\(forwarding?.rawValue)::text is null or forwarding = \(forwarding?.rawValue)::text)
            order by user_id
            limit \(limit)
            """,
            as: (UUID, String, Origin, Forwarding, Date?).self,
            deadline: .forAllAccounts
        )
        .map { Entry(userID: $0.0, address: $0.1, knownBy: $0.2, forwarding: $0.3, forwardingChangedAt: $0.4) }
    }

    /// An account's relay address; nil if it has none.
    static func entry(of user: UUID, on connection: isolated Connection) throws -> Entry? {
        try connection.first(
            """
            select address, known_by, forwarding, forwarding_changed_at
            from accountctl.relay_accounts
            where user_id = \(user)
            """,
            as: (String, Origin, Forwarding, Date?).self
        )
        .map { Entry(userID: user, address: $0.0, knownBy: $0.1, forwarding: $0.2, forwardingChangedAt: $0.3) }
    }

    /// Whether mail of a stream may be sent to an account.
    package struct CanSend: Sendable, Hashable {
        /// The possible answers.
        package enum Answer: String, Sendable, Hashable, PostgresDecodable {
            /// It may be sent.
            case yes
            /// It may not be sent.
            case no
            /// It is not known.
            case unknown
        }

        /// The answer.
        package let answer: Answer
        /// The reason for the answer.
        package let reason: String
    }

    /// Calls the same database function that the app's mailer calls.
    package static func canSend(
        stream: String,
        userID: UUID,
        on connection: isolated Connection
    ) throws -> CanSend {
        let row = try connection.one(
            "select answer, reason from accountctl.can_send(\(stream), \(userID))",
            as: (CanSend.Answer, String).self
        )
        return CanSend(answer: row.0, reason: row.1)
    }

    /// Records what an event of Apple says about an account's address, unless a newer event is recorded.
    ///
    /// - Parameters:
    ///   - userID: the account.
    ///   - address: its address, as the event has it.
    ///   - forwards: whether the relay forwards now; nil if the event does not say.
    ///   - happenedAt: when it happened, by Apple's clock.
    ///   - appleClaim: Apple's claim whether the address is a private one.
    ///   - connection: the caller's transaction.
    /// - Returns: false if the event is older than what is known about the address.
    /// - Throws: `PostgresError`.
    @discardableResult
    static func note(
        userID: UUID,
        address: String,
        forwards: Bool?,
        happenedAt: Date,
        appleClaim: Bool?,
        on connection: isolated Connection
    ) throws -> Bool {
        try connection.one(
            """
            select accountctl.note_relay_address(
                \(userID), \(address), \(forwards)::boolean, \(happenedAt), \(appleClaim)::boolean
            )
            """,
            as: Bool.self
        )
    }
}
