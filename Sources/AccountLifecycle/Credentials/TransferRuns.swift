package import Postgres
import Sealing
package import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The calls to Apple of a team transfer: one user at a time, at a bounded rate, each result recorded before the next call.
///
/// Stopping is always possible: what is recorded is not asked again.
package struct TransferRuns: Sendable {
    private static let batch = 200
    /// Answers without a verdict in a row after which a run ends, to be started again later.
    private static let patience = 5

    private let pool: Pool
    private let client: AppleClient
    private let transfer: TeamTransfer
    private let pause: Duration

    /// Prepares runs.
    ///
    /// - Parameters:
    ///   - pool: The database.
    ///   - client: The client of the side that runs: the sender's to generate, the recipient's to exchange.
    ///   - transfer: Which app goes where.
    ///   - callsPerSecond: At most so many calls; Apple publishes no limit for this endpoint.
    package init(pool: Pool, client: AppleClient, transfer: TeamTransfer, callsPerSecond: Double = 10) {
        self.pool = pool
        self.client = client
        self.transfer = transfer
        pause = .seconds(1 / max(0.1, min(callsPerSecond, 1000)))
    }

    /// Gets a transfer identifier for every account that has none; the sending team's side.
    ///
    /// - Parameter progress: Told after each user how many are dealt with.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func generate(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let (transfer, client) = (transfer, client)
        return try await run(progress: progress) { connection in
            try connection.query(
                """
                select i.user_id, i.provider_id
                from auth.identities as i
                where i.provider = 'apple'
                  and not exists (
                      select
                      from accountctl.apple_transfers as t
                      where t.user_id = i.user_id
                        and t.client_id = \(transfer.clientID)
                        and t.target_team = \(transfer.targetTeam)
                  )
                order by i.user_id
                limit \(Self.batch)
                """,
                as: (UUID, String).self
            )
        } ask: { sub, token in
            try await client.transferIdentifier(ofSub: sub, targetTeam: transfer.targetTeam, token: token)
        } record: { user, sub, identifier, connection in
            try connection.execute(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, old_sub, transfer_identifier, state)
                values (\(user), \(transfer.clientID), \(transfer.targetTeam), \(sub), \(identifier), 'generated')
                on conflict (user_id, client_id, target_team) do nothing
                """
            )
        }
    }

    /// Asks who each user is in the recipient team; the recipient's side.
    ///
    /// - Parameter progress: Told after each user how many are dealt with.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func exchange(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let (transfer, client) = (transfer, client)
        return try await run(progress: progress) { connection in
            try connection.query(
                """
                select user_id, transfer_identifier
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and state = 'generated'
                order by id
                limit \(Self.batch)
                """,
                as: (UUID, String).self
            )
        } ask: { identifier, token in
            try await client.exchange(transferIdentifier: identifier, token: token)
        } record: { user, _, moved, connection in
            try connection.execute(
                """
                update accountctl.apple_transfers
                set state = 'exchanged',
                    new_sub = \(moved.sub),
                    new_email = \(moved.email),
                    is_private_email = \(moved.isPrivateEmail),
                    updated_at = clock_timestamp()
                where user_id = \(user)
                  and client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and state = 'generated'
                """
            )
        }
    }

    // MARK: - The loop of both

    private func run<Value: Sendable>(
        progress: @Sendable (Int) -> Void,
        due: @escaping @Sendable (isolated Connection) throws -> [(UUID, String)],
        ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>,
        record: @escaping @Sendable (UUID, String, Value, isolated Connection) throws -> Void
    ) async throws -> TeamTransfer.Run {
        var run = TeamTransfer.Run()
        var token: Secret<String>?
        var silence = 0
        while true {
            let users = try await pool.withConnection { try due($0) }
            if users.isEmpty { return run }
            for (user, subject) in users {
                try await Task.sleep(for: pause, clock: .continuous)
                // Asked once more with a new token, when the old one's hour is over.
                var outcome = TransferOutcome<Value>.tokenExpired
                for _ in 0..<2 {
                    guard case .tokenExpired = outcome else { break }
                    if token == nil {
                        switch try await client.migrationToken() {
                        case .granted(let new, _): token = new
                        case .misconfigured(let reason): return run.stopped("\(reason)")
                        case .later(let delay): return run.stopped("\(delay)")
                        }
                    }
                    guard let current = token else { break }
                    outcome = try await ask(subject, current)
                    if case .tokenExpired = outcome { token = nil }
                }
                switch outcome {
                case .done(let value):
                    try await pool.withConnection { try record(user, subject, value, $0) }
                    run.done += 1
                    silence = 0
                case .userRefused(let refusal):
                    try await refuse(user, subject, "\(refusal.code.text)")
                    run.refused += 1
                    silence = 0
                case .misconfigured(let reason): return run.stopped("\(reason)")
                case .tokenExpired: return run.stopped("Apple takes no migration token")
                case .later(let delay):
                    silence += 1
                    if silence >= Self.patience { return run.stopped("\(delay)") }
                    try await Task.sleep(for: delay.retryAfter ?? .seconds(1), clock: .continuous)
                }
                progress(run.done + run.refused)
            }
        }
    }

    private func refuse(_ user: UUID, _ subject: String, _ reason: String) async throws {
        let transfer = transfer
        _ = try await pool.withConnection { connection in
            try connection.execute(
                """
                insert into accountctl.apple_transfers as t
                    (user_id, client_id, target_team, state, reason)
                values (\(user), \(transfer.clientID), \(transfer.targetTeam), 'refused', \(reason))
                on conflict (user_id, client_id, target_team) do update
                set state = 'refused',
                    reason = excluded.reason,
                    updated_at = clock_timestamp()
                """
            )
        }
    }
}

extension TeamTransfer.Run {
    fileprivate func stopped(_ reason: String) -> TeamTransfer.Run {
        var run = self
        run.stoppedBy = reason
        return run
    }
}
