import Logging
import Metrics
import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks Apple whether held credentials live: each at most once a day, to make up for notifications that were lost.
package struct CredentialChecks: Sendable {
    /// What a check found out about one account's credentials.
    enum Finding: Sendable, Hashable {
        case lives
        /// Refused, while the same client id works for others.
        case gone
        /// Refused, and nothing shows that the client id works at all; or an answer that may be our own fault.
        case inconclusive
        case nothingHeld
        case unavailable(after: Duration?)
    }

    /// What a sweep did.
    package struct Tally: Codable, Sendable, Hashable {
        package var live = 0
        package var gone = 0
        package var inconclusive = 0
        package var doubtful = 0
        package var postponed = 0
    }

    private struct Held: Sendable {
        let id: Int64
        let user: UUID
        let clientID: String
        let sealed: String
    }

    /// The most credentials of one sweep: sweeps come every minute, a million accounts need 700 a minute.
    private static let batch = 1000
    /// How long a credential that was seen alive shows that its client id works.
    private static let proofLifetime = "2 days"

    private let services: CredentialServices

    /// Makes a checker.
    package init(_ services: CredentialServices) {
        self.services = services
    }

    /// Checks the credentials whose day is over.
    ///
    /// Each is put off by a day **before** Apple is asked: a process that dies in between costs one check, never two in a day.
    ///
    /// - Returns: What was found.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func sweep() async throws -> Tally {
        var tally = Tally()
        var resting: Set<String> = []
        for credential in try await takeDue() {
            try Task.checkCancellation()
            if resting.contains(credential.clientID) {
                try await putOff(credential)
                tally.postponed += 1
                continue
            }
            switch try await check(credential) {
            case .lives: tally.live += 1
            case .gone:
                try await tellGone(credential)
                tally.gone += 1
            case .inconclusive: tally.inconclusive += 1
            case .nothingHeld: break
            case .unavailable:
                // One answer is enough: the rest of this client id waits for the breaker, or for Apple.
                resting.insert(credential.clientID)
                try await putOff(credential)
                tally.postponed += 1
            }
        }
        let counts = [
            ("live", tally.live), ("gone", tally.gone), ("inconclusive", tally.inconclusive),
            ("postponed", tally.postponed),
        ]
        for (name, count) in counts where count > 0 {
            Counter(label: "apple_credential_checks_total", dimensions: [("outcome", name)]).increment(by: count)
        }
        return tally
    }

    /// Checks an account's credentials now, to confirm what a device reported.
    func confirm(user: UUID, clientID: String?) async throws -> Finding {
        let held = try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id, user_id, client_id, sealed_token
                from accountctl.apple_credentials
                where user_id = \(user)
                  and client_id = coalesce(\(clientID), client_id)
                order by id
                """,
                as: (Int64, UUID, String, String).self
            )
        }.map { Held(id: $0, user: $1, clientID: $2, sealed: $3) }
        guard !held.isEmpty else { return .nothingHeld }
        var finding = Finding.inconclusive
        for credential in held {
            switch try await check(credential) {
            // The grant is the account's as a whole: one answer settles it.
            case .gone: return .gone
            case .unavailable(let pause): return .unavailable(after: pause)
            case .lives: finding = .lives
            case .inconclusive, .nothingHeld: break
            }
        }
        return finding
    }

    // MARK: - One credential

    private func check(_ credential: Held) async throws -> Finding {
        guard let client = services.apple[credential.clientID] else { return .unavailable(after: nil) }
        let token: Secret<String>
        do {
            token = try services.keys.openText(
                credential.sealed,
                for: AppleCredential.context(user: credential.user, clientID: credential.clientID)
            )
        } catch {
            services.logger.error("a stored Apple credential cannot be opened", metadata: ["reason": "\(error)"])
            return .unavailable(after: nil)
        }
        switch try await client.check(refreshToken: token) {
        case .live:
            try await note(credential, "last_live_at = clock_timestamp(), doubts = 0")
            return .lives
        case .grantGone:
            try await note(credential, "doubts = least(doubts + 1, 1000)")
            return try await isProven(credential, client) ? .gone : .inconclusive
        case .doubtful:
            try await note(credential, "doubts = least(doubts + 1, 1000)")
            return .inconclusive
        case .misconfigured(let reason):
            services.logger.error("Apple refuses our side", metadata: ["reason": "\(reason)"])
            return .unavailable(after: nil)
        case .later(let delay): return .unavailable(after: delay.retryAfter)
        }
    }

    /// Whether a refusal is about the account: the same client id works for another one.
    ///
    /// Where no other is held, that the client itself is good must do.
    private func isProven(_ credential: Held, _ client: AppleClient) async throws -> Bool {
        let (others, living) = try await services.pool.withConnection { connection in
            try connection.one(
                """
                select
                    exists (
                        select
                        from accountctl.apple_credentials
                        where client_id = \(credential.clientID) and user_id <> \(credential.user)
                    ),
                    exists (
                        select
                        from accountctl.apple_credentials
                        where client_id = \(credential.clientID)
                          and user_id <> \(credential.user)
                          and last_live_at > now() - \(Self.proofLifetime)::interval
                    )
                """,
                as: (Bool, Bool).self
            )
        }
        if living { return true }
        guard !others, case .good = try await client.selfTest() else { return false }
        return true
    }

    private func note(_ credential: Held, _ change: StaticString) async throws {
        let change = Statement(unsafeSQL: change.description)
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                "update accountctl.apple_credentials set checked_at = clock_timestamp(), " + change
                    + " where id = \(credential.id) and sealed_token = \(credential.sealed)"
            )
        }
    }

    private func takeDue() async throws -> [Held] {
        let interval = services.policy.checkInterval.components.seconds
        return try await services.pool.withConnection { connection in
            try connection.query(
                """
                with due as materialized (
                    select id
                    from accountctl.apple_credentials
                    where check_after <= now()
                    order by check_after
                    limit \(Self.batch)
                    for update skip locked
                )
                update accountctl.apple_credentials
                -- A tenth later each time, at random: checks that fell together drift apart over the days.
                set check_after = now() + \(interval) * (1 + random() / 10) * interval '1 second'
                where id = any (array (select id from due))
                returning id, user_id, client_id, sealed_token
                """,
                as: (Int64, UUID, String, String).self
            )
        }.map { Held(id: $0, user: $1, clientID: $2, sealed: $3) }
    }

    /// Apple was not asked, or gave no answer: sooner than tomorrow.
    private func putOff(_ credential: Held) async throws {
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                """
                update accountctl.apple_credentials
                set check_after = now() + (30 + 30 * random()) * interval '1 minute'
                where id = \(credential.id)
                """
            )
        }
    }

    /// Records the finding as an event, and has it handled like one of Apple's.
    private func tellGone(_ credential: Held) async throws {
        _ = try await services.pool.withTransaction { connection in
            // Not when the credential was replaced while Apple was asked: the person came back.
            let event = try connection.first(
                """
                insert into accountctl.credential_events (source, kind, client_id, user_id)
                select 'check', 'grant_gone', client_id, user_id
                from accountctl.apple_credentials
                where id = \(credential.id)
                  and sealed_token = \(credential.sealed)
                returning id
                """,
                as: Int64.self
            )
            guard let event else { return }
            try CredentialJobs.enqueueHandling(of: event, on: connection)
        }
    }
}
