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
/// Apple's documented answer for a user who cannot be moved (`invalid_request`, TN3159, TN3107) is also its answer to a
/// request that is wrong for everybody. Its answer to a dead migration token is undocumented: HTTP 401 and every refusal
/// may mean that. So a user refused after another was moved is asked about again with a new token. After many refusals
/// in a row, one who was named before is asked about: if Apple still names that user, the refusals are recorded (they
/// may be users of another team's apps); otherwise nothing is recorded and the run stops.
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

    /// How far a run is.
    private struct Course: Sendable {
        var run = TeamTransfer.Run()
        var tokens: MigrationTokens
        var doubts: [Doubt] = []
        /// Whether the user before was refused, with a token that was new then.
        var isAfterRefusal = false
        /// Answers without a verdict in a row.
        var silence = 0
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
        var course = Course(tokens: MigrationTokens(client))
        while true {
            let known = course.doubts.map(\.subject)
            let users = try await pool.withConnection { try due(known, $0) }
            if users.isEmpty {
                try await refuse(&course, replacing: replaced)
                return course.run
            }
            for (user, subject) in users {
                try await Task.sleep(for: pause, clock: .continuous)
                let outcome: TransferOutcome<Value>
                do {
                    outcome = try await answer(about: subject, &course, ask)
                } catch let error as MigrationTokens.Refused {
                    return course.run.stopped(error.reason)
                }
                switch outcome {
                case .done(let value):
                    try await pool.withConnection { try record(user, subject, value, $0) }
                    course.run.done += 1
                    course.silence = 0
                    course.isAfterRefusal = false
                    // The token, the team and the window are good: those before were refused for themselves.
                    try await refuse(&course, replacing: replaced)
                case .userRefused(let refusal):
                    course.doubts.append(Doubt(user: user, subject: subject, reason: refusal.code.text))
                    let reason = try await doubt(refusal, &course, replacing: replaced, witnesses: witnesses, ask)
                    if let reason { return course.run.stopped(reason) }
                case .misconfigured(let reason): return course.run.stopped("\(reason)")
                case .tokenExpired: return course.run.stopped("Apple takes no migration token")
                case .later(let delay):
                    guard try await waitAgain(delay, &course) else { return course.run.stopped("\(delay)") }
                }
                progress(course.run.done + course.run.refused)
            }
        }
    }

    /// Takes up a refusal, the last of the doubts: they are recorded, stay in doubt, or stop the run.
    ///
    /// - Returns: Why the run stops; nil to go on.
    private func doubt<Value: Sendable>(
        _ refusal: AppleRefusal,
        _ course: inout Course,
        replacing replaced: [String],
        witnesses: @escaping @Sendable (isolated Connection) throws -> [String],
        _ ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>
    ) async throws -> String? {
        course.silence = 0
        course.isAfterRefusal = true
        // Who was refused before may be refused again: nothing is lost by recording that.
        if retriesRefused {
            try await refuse(&course, replacing: replaced)
            return nil
        }
        guard course.doubts.count >= Self.refusalsInARow else { return nil }
        let others = try await pool.withConnection { try witnesses($0) }
        guard try await isAnyNamed(others, &course.tokens, ask) else {
            return Self.notBelieved(course.doubts.count, refusal)
        }
        course.isAfterRefusal = false
        try await refuse(&course, replacing: replaced)
        return nil
    }

    private static func notBelieved(_ count: Int, _ refusal: AppleRefusal) -> String {
        "Apple refused \(count) users in a row, \(refusal), and nobody shows that the request is right; nothing was "
            + "recorded about them: check the team id and that the transfer's sixty days are not over. Where many users "
            + "are of other teams' apps, the next start asks others first"
    }

    /// Waits for as long as Apple asks.
    ///
    /// - Returns: False, at once, when it gave too many answers without a verdict in a row.
    private func waitAgain(_ delay: AppleDelay, _ course: inout Course) async throws -> Bool {
        course.silence += 1
        guard course.silence < Self.patience else { return false }
        try await Task.sleep(for: delay.retryAfter ?? .seconds(1), clock: .continuous)
        return true
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
    private func answer<Value: Sendable>(
        about subject: String,
        _ course: inout Course,
        _ ask: @Sendable (String, Secret<String>) async throws -> TransferOutcome<Value>
    ) async throws -> TransferOutcome<Value> {
        let token = try await course.tokens.token()
        let outcome = try await ask(subject, token.secret)
        switch outcome {
        case .tokenExpired: break
        case .userRefused where !course.isAfterRefusal: break
        case .done, .userRefused, .misconfigured, .later: return outcome
        }
        course.tokens.drop()
        return try await ask(subject, try await course.tokens.token().secret)
    }

    private func refuse(_ course: inout Course, replacing replaced: [String]) async throws {
        for doubt in course.doubts {
            course.run.refused += try await refuse(doubt, replacing: replaced)
        }
        course.doubts = []
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
