import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The loop that both sides of a transfer share; ``TransferCourse`` decides what an answer means for the next step.
extension TransferRuns {
    /// How many users whom Apple named before are asked about; if it names none, the request is at fault.
    private static let witnesses = 3

    /// Asks about the users that are due until none is left.
    ///
    /// - Parameters:
    ///   - side: The side that runs.
    ///   - progress: Called after each user with the number of users processed.
    /// - Returns: The results.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func run<Side: TransferSide>(
        _ side: Side,
        progress: @Sendable (Int) -> Void
    ) async throws -> TeamTransfer.Run {
        // Each run begins at a random account, so that a series of users of other teams' apps, all of whom Apple
        // refuses, does not keep it from the rest.
        var course = TransferCourse(after: UUID(), recordsAtOnce: retriesRefused)
        var tokens = MigrationTokens(client)
        while !course.walk.isOver {
            let (position, rows) = (course.walk.position, pageRows)
            let page = try await pool.withConnection { try side.page(after: position, rows: rows, on: $0) }
            for (user, subject) in course.pass(page) {
                try await Task.sleep(for: pause, clock: .continuous)
                let outcome: TransferOutcome<Side.Answer>
                do {
                    outcome = try await answer(
                        about: subject,
                        isAfterRefusal: course.isAfterRefusal,
                        &tokens,
                        side
                    )
                } catch let error as MigrationTokens.Refused {
                    course.stop(error.reason)
                    return course.result
                }
                switch outcome {
                case .done(let answer):
                    let recorded = try await record(of: user, &course) { connection in
                        try side.record(answer, of: user, subject: subject, on: connection)
                    }
                    course.named(recorded: recorded)
                    try await refuse(&course, side)
                case .userRefused(let refusal):
                    let step = course.refused(
                        TransferCourse.Doubt(user: user, subject: subject, refusal: refusal)
                    )
                    guard try await take(step, &course, &tokens, side) else { return course.result }
                case .misconfigured(let reason):
                    course.stop("\(reason)")
                    return course.result
                case .tokenExpired:
                    course.stop("Apple accepts no migration token")
                    return course.result
                case .later(let delay):
                    guard let wait = course.wait(delay) else {
                        course.stop("\(delay)")
                        return course.result
                    }
                    try await Task.sleep(for: wait, clock: .continuous)
                }
                progress(course.processed)
                guard !course.isHeldUp else { return course.result }
            }
        }
        _ = try await take(course.lastStep, &course, &tokens, side)
        return course.result
    }

    /// Records the users in doubt, if the course says so and a witness does not speak against it.
    ///
    /// - Returns: Whether the run continues.
    private func take(
        _ step: TransferCourse.Step,
        _ course: inout TransferCourse,
        _ tokens: inout MigrationTokens,
        _ side: some TransferSide
    ) async throws -> Bool {
        switch step {
        case .goOn: return true
        case .record: break
        case .askWitness:
            let others = try await pool.withConnection { try side.witnesses(atMost: Self.witnesses, on: $0) }
            guard try await isAnyNamed(others, &tokens, side) else {
                course.noWitnessNamed()
                return false
            }
            course.witnessNamed()
        }
        try await refuse(&course, side)
        return true
    }

    /// Whether Apple still names a user whom it named before, which proves the token, the team and the window.
    private func isAnyNamed(
        _ subjects: [String],
        _ tokens: inout MigrationTokens,
        _ side: some TransferSide
    ) async throws -> Bool {
        for subject in subjects {
            try await Task.sleep(for: pause, clock: .continuous)
            let token: MigrationTokens.Token
            do {
                token = try await tokens.token()
            } catch is MigrationTokens.Refused {
                return false
            }
            if case .done = try await side.ask(subject, token.secret) { return true }
        }
        return false
    }

    /// Asks about one user, and again with a new token if the first answer may be about the token.
    private func answer<Side: TransferSide>(
        about subject: String,
        isAfterRefusal: Bool,
        _ tokens: inout MigrationTokens,
        _ side: Side
    ) async throws -> TransferOutcome<Side.Answer> {
        let token = try await tokens.token()
        let outcome = try await side.ask(subject, token.secret)
        switch outcome {
        case .tokenExpired: break
        case .userRefused where !isAfterRefusal: break
        case .done, .userRefused, .misconfigured, .later: return outcome
        }
        tokens.drop()
        return try await side.ask(subject, try await tokens.token().secret)
    }

    private func refuse(_ course: inout TransferCourse, _ side: some TransferSide) async throws {
        for doubt in course.takeDoubts() {
            let recorded = try await refuse(doubt, replacing: side.refusable, &course)
            course.refusalRecorded(recorded)
        }
    }

    /// - Returns: How many accounts were recorded: none if the account has progressed by another of its identities.
    private func refuse(
        _ doubt: TransferCourse.Doubt,
        replacing replaced: [TransferState],
        _ course: inout TransferCourse
    ) async throws -> Int {
        let transfer = transfer
        return try await record(of: doubt.user, &course) { connection in
            try connection.execute(
                """
                insert into accountctl.apple_transfers as t
                    (user_id, client_id, target_team, state, reason)
                values (\(doubt.user), \(transfer.clientID), \(transfer.targetTeam), \(TransferState.refused.rawValue), \(doubt.refusal.code.text))
                on conflict (user_id, client_id, target_team) do update
                set state = excluded.state,
                    reason = excluded.reason,
                    updated_at = clock_timestamp()
                where t.state = any(\(replaced.map(\.rawValue)))
                """
            )
        }
    }

    /// Records an answer, or passes the account if another session holds it locked; one that was erased since its page
    /// was read needs no record.
    ///
    /// - Returns: How many accounts were recorded.
    private func record(
        of user: UUID,
        _ course: inout TransferCourse,
        _ change: @Sendable (isolated Connection) throws -> Int
    ) async throws -> Int {
        let patience = lockPatience
        do {
            let recorded = try await pool.withTransaction { connection in
                try DeletionDesk.limitLockWaits(to: patience, on: connection)
                return try change(connection)
            }
            course.reached()
            return recorded
        } catch SQLState.foreignKeyViolation {
            course.passGone(user)
            return 0
        } catch let error as PostgresError where error.waitedTooLong {
            course.passLocked(user)
            return 0
        }
    }
}
