import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The loop that both sides of a transfer share.
///
/// What Apple answers where a user cannot be moved is documented (`invalid_request`, TN3159 and TN3107), and is the
/// same as for a request that is wrong for everybody: another target team, a time outside the window, an access token
/// that does not fit. What it answers when the migration token has died is documented nowhere; HTTP 401 and every
/// refusal may mean it. So a user who is refused after another was moved is asked about again with a new token, and
/// many in a row are not believed at all: nothing is recorded about them unless another, whom Apple named before, is
/// still named: then they are users of other teams' apps, say.
extension TransferRuns {
    /// Answers without a verdict in a row after which a run ends, to be started again later.
    private static let patience = 5
    /// Refusals in a row after which they are not about the users.
    static let refusalsInARow = 20

    /// A user whom Apple refused, not yet believed.
    private struct Doubt: Sendable {
        let user: UUID
        let subject: String
        let reason: String
    }

    /// Asks about those that are due until none is left.
    ///
    /// - Parameters:
    ///   - progress: Told after each user how many are dealt with.
    ///   - replaced: States that a refusal may take the place of.
    ///   - due: Whom to ask about next, besides those asked about already.
    ///   - witnesses: Some whom Apple named before.
    ///   - ask: Asks Apple.
    ///   - record: Records what Apple said.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func run<Value: Sendable>(
        progress: @Sendable (Int) -> Void,
        replacing replaced: [String],
        due: @escaping @Sendable (_ known: [String], isolated Connection) throws -> [(UUID, String)],
        witnesses: @escaping @Sendable (isolated Connection) throws -> [String],
        ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>,
        record: @escaping @Sendable (UUID, String, Value, isolated Connection) throws -> Void
    ) async throws -> TeamTransfer.Run {
        var run = TeamTransfer.Run()
        var tokens = MigrationTokens(client)
        var doubts: [Doubt] = []
        var isAfterRefusal = false
        var silence = 0
        while true {
            let known = doubts.map(\.subject)
            let users = try await pool.withConnection { try due(known, $0) }
            if users.isEmpty {
                try await refuse(&doubts, replacing: replaced, &run)
                return run
            }
            for (user, subject) in users {
                try await Task.sleep(for: pause, clock: .continuous)
                let outcome: TransferOutcome<Value>
                do {
                    outcome = try await answer(about: subject, &tokens, isTokenNew: isAfterRefusal, ask)
                } catch let error as MigrationTokens.Refused {
                    return run.stopped(error.reason)
                }
                switch outcome {
                case .done(let value):
                    try await pool.withConnection { try record(user, subject, value, $0) }
                    run.done += 1
                    silence = 0
                    isAfterRefusal = false
                    // The token, the team and the window are good: those before were refused for themselves.
                    try await refuse(&doubts, replacing: replaced, &run)
                case .userRefused(let refusal):
                    silence = 0
                    isAfterRefusal = true
                    doubts.append(Doubt(user: user, subject: subject, reason: refusal.code.text))
                    // Who was refused before may be refused again: nothing is lost by recording that.
                    if retriesRefused {
                        try await refuse(&doubts, replacing: replaced, &run)
                    } else if doubts.count >= Self.refusalsInARow {
                        let others = try await pool.withConnection { try witnesses($0) }
                        guard try await isAnyNamed(others, &tokens, ask) else {
                            return run.stopped(
                                "Apple refused \(doubts.count) users in a row, \(refusal), and nobody shows that the request is "
                                    + "right; nothing was recorded about them: check the team id and that the transfer's sixty "
                                    + "days are not over. Where many users are of other teams' apps, the next start asks others first"
                            )
                        }
                        isAfterRefusal = false
                        try await refuse(&doubts, replacing: replaced, &run)
                    }
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

    /// Whether Apple still names one of those whom it named before: then the token, the team and the window are good.
    private func isAnyNamed<Value: Sendable>(
        _ subjects: [String],
        _ tokens: inout MigrationTokens,
        _ ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>
    ) async throws -> Bool {
        for subject in subjects {
            try await Task.sleep(for: pause, clock: .continuous)
            let token: MigrationTokens.Token
            do {
                token = try await tokens.token()
            } catch is MigrationTokens.Refused {
                return false
            }
            if case .done = try await ask(subject, token.secret) { return true }
        }
        return false
    }

    /// Asks about one user; a second time with a new token where the first answer may be about the token.
    ///
    /// `isTokenNew` says that the token was got for the user before, who was refused with it.
    private func answer<Value: Sendable>(
        about subject: String,
        _ tokens: inout MigrationTokens,
        isTokenNew: Bool,
        _ ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>
    ) async throws -> TransferOutcome<Value> {
        let token = try await tokens.token()
        let outcome = try await ask(subject, token.secret)
        switch outcome {
        case .tokenExpired: break
        case .userRefused where !isTokenNew: break
        case .done, .userRefused, .misconfigured, .later: return outcome
        }
        tokens.drop()
        return try await ask(subject, try await tokens.token().secret)
    }

    private func refuse(
        _ doubts: inout [Doubt],
        replacing replaced: [String],
        _ run: inout TeamTransfer.Run
    ) async throws {
        for doubt in doubts {
            run.refused += try await refuse(doubt, replacing: replaced)
        }
        doubts = []
    }

    /// - Returns: How many accounts were recorded: none when it was moved on by another of its identities.
    private func refuse(_ doubt: Doubt, replacing replaced: [String]) async throws -> Int {
        let transfer = transfer
        return try await pool.withConnection { connection in
            try connection.execute(
                """
                insert into accountctl.apple_transfers as t
                    (user_id, client_id, target_team, state, reason)
                values (\(doubt.user), \(transfer.clientID), \(transfer.targetTeam), 'refused', \(doubt.reason))
                on conflict (user_id, client_id, target_team) do update
                set state = 'refused',
                    reason = excluded.reason,
                    updated_at = clock_timestamp()
                where t.state = any (\(replaced))
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
