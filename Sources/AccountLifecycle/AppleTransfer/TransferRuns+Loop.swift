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
/// request that is wrong for everybody. Its answer to an expired migration token is undocumented: HTTP 401 and every
/// refusal may mean that. So a user refused after another was moved is asked about again with a new token. After many
/// consecutive refusals, and at the end of a run that moved nobody, a user whom Apple named before is asked about. If
/// Apple still names that user, the refusals are recorded (they may be users of another team's apps); otherwise nothing
/// is recorded and the run stops.
extension TransferRuns {
    /// Consecutive answers without a verdict after which a run ends, to be started again later.
    private static let patience = 5
    /// Consecutive refusals after which the request itself is checked.
    static let refusalsInARow = 20
    /// How many users whom Apple named before are asked about; if it names none, the request is at fault.
    private static let witnesses = 3
    /// How many locked accounts in a row are passed; if there are more, something holds all of them locked.
    private static let lockedAtMost = 20

    /// A user whom Apple refused, while the refusal is not yet believed.
    private struct Doubt: Sendable {
        let user: UUID
        let subject: String
        let refusal: AppleRefusal
    }

    /// The progress of a run.
    private struct Course: Sendable {
        var run = TeamTransfer.Run()
        var tokens: MigrationTokens
        /// Each run begins at a random account, so that a series of users of other teams' apps, all of whom Apple
        /// refuses, does not keep it from the rest.
        var walk = TransferWalk(after: UUID())
        var doubts: [Doubt] = []
        /// Whether Apple has named a user, also one whose account is locked or gone by now.
        var hasNamed = false
        /// Whether the previous user was refused with a token that was new then.
        var isAfterRefusal = false
        /// Consecutive answers without a verdict.
        var silence = 0
        /// Accounts that another session holds locked, such as their deletion: they are left to another run.
        var locked: Set<UUID> = []
        /// How many accounts in a row were locked when something was to be recorded of them.
        var lockedInARow = 0
        /// Accounts that were gone when an answer was to be recorded: an identity may have outlived its account.
        var gone: Set<UUID> = []
    }

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
        var course = Course(tokens: MigrationTokens(client))
        while !course.walk.isOver {
            for (user, subject) in try await next(of: side, &course) {
                try await Task.sleep(for: pause, clock: .continuous)
                let outcome: TransferOutcome<Side.Answer>
                do {
                    outcome = try await answer(about: subject, &course, side)
                } catch let error as MigrationTokens.Refused {
                    return course.run.stopped(error.reason)
                }
                switch outcome {
                case .done(let answer):
                    let recorded = try await record(of: user, &course) { connection in
                        try side.record(answer, of: user, subject: subject, on: connection)
                    }
                    course.run.done += recorded
                    course.hasNamed = true
                    course.silence = 0
                    course.isAfterRefusal = false
                    // The answer proves the token, the team and the window, so earlier refusals are about their users.
                    try await refuse(&course, side)
                case .userRefused(let refusal):
                    course.doubts.append(Doubt(user: user, subject: subject, refusal: refusal))
                    guard try await doubt(&course, side) else { return course.run }
                case .misconfigured(let reason): return course.run.stopped("\(reason)")
                case .tokenExpired: return course.run.stopped("Apple accepts no migration token")
                case .later(let delay):
                    guard try await waitAgain(delay, &course) else { return course.run.stopped("\(delay)") }
                }
                progress(course.run.done + course.run.refused)
                guard course.lockedInARow <= Self.lockedAtMost else { return course.run.leaving(course.locked.count) }
            }
        }
        // Even if only a few users are in doubt, as in a small app or on the last page: the team or the key may be
        // wrong.
        if course.hasNamed {
            try await refuse(&course, side)
        } else {
            _ = try await settle(&course, side)
        }
        return course.run.leaving(course.locked.count)
    }

    /// The users on the next page that are due, except those in doubt and those whose accounts are locked or gone.
    private func next(
        of side: some TransferSide,
        _ course: inout Course
    ) async throws -> [(user: UUID, subject: String)] {
        let (position, rows) = (course.walk.position, pageRows)
        let page = try await pool.withConnection { try side.page(after: position, rows: rows, on: $0) }
        let inDoubt = Set(course.doubts.map(\.subject))
        let passed = course.locked.union(course.gone)
        let due = page.due.filter { !inDoubt.contains($0.subject) && !passed.contains($0.user) }
        course.walk.pass(page.last, hasFound: !due.isEmpty)
        return due
    }

    /// Handles a refusal, which is the last of the doubts: the refusals are recorded, stay in doubt, or stop the run.
    ///
    /// - Returns: Whether the run continues.
    private func doubt(_ course: inout Course, _ side: some TransferSide) async throws -> Bool {
        course.silence = 0
        course.isAfterRefusal = true
        // The operator requests it, as Apple may name none of the remaining users; a recorded user can be asked about
        // again.
        if retriesRefused {
            try await refuse(&course, side)
            return true
        }
        guard course.doubts.count >= Self.refusalsInARow else { return true }
        return try await settle(&course, side)
    }

    /// Records the users in doubt if a witness shows that the request is right; stops the run otherwise.
    ///
    /// - Returns: Whether no doubt is left.
    private func settle(_ course: inout Course, _ side: some TransferSide) async throws -> Bool {
        guard let last = course.doubts.last else { return true }
        let others = try await pool.withConnection { try side.witnesses(atMost: Self.witnesses, on: $0) }
        guard try await isAnyNamed(others, &course.tokens, side) else {
            course.run = course.run.doubting(course.doubts.count, last.refusal)
            return false
        }
        course.isAfterRefusal = false
        try await refuse(&course, side)
        return true
    }

    /// Waits for as long as Apple asks.
    ///
    /// - Returns: False, without waiting, after too many consecutive answers without a verdict.
    private func waitAgain(_ delay: AppleDelay, _ course: inout Course) async throws -> Bool {
        course.silence += 1
        guard course.silence < Self.patience else { return false }
        try await Task.sleep(for: delay.retryAfter ?? .seconds(1), clock: .continuous)
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
        _ course: inout Course,
        _ side: Side
    ) async throws -> TransferOutcome<Side.Answer> {
        let token = try await course.tokens.token()
        let outcome = try await side.ask(subject, token.secret)
        switch outcome {
        case .tokenExpired: break
        case .userRefused where !course.isAfterRefusal: break
        case .done, .userRefused, .misconfigured, .later: return outcome
        }
        course.tokens.drop()
        return try await side.ask(subject, try await course.tokens.token().secret)
    }

    private func refuse(_ course: inout Course, _ side: some TransferSide) async throws {
        for doubt in course.doubts {
            let recorded = try await refuse(doubt, replacing: side.refusable, &course)
            course.run.refused += recorded
        }
        course.doubts = []
    }

    /// - Returns: How many accounts were recorded: none if the account has progressed by another of its identities.
    private func refuse(
        _ doubt: Doubt,
        replacing replaced: [TransferState],
        _ course: inout Course
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
        _ course: inout Course,
        _ change: @Sendable (isolated Connection) throws -> Int
    ) async throws -> Int {
        let patience = lockPatience
        do {
            let recorded = try await pool.withTransaction { connection in
                try DeletionDesk.limitLockWaits(to: patience, on: connection)
                return try change(connection)
            }
            course.lockedInARow = 0
            return recorded
        } catch SQLState.foreignKeyViolation {
            course.gone.insert(user)
            return 0
        } catch let error as PostgresError where error.waitedTooLong {
            course.locked.insert(user)
            course.lockedInARow += 1
            return 0
        }
    }
}

extension TeamTransfer.Run {
    fileprivate func stopped(_ reason: String) -> TeamTransfer.Run {
        var run = self
        run.stoppedBy = reason
        return run
    }

    /// Says of a run how many accounts it passed because they were locked.
    fileprivate func leaving(_ locked: Int) -> TeamTransfer.Run {
        guard locked > 0, stoppedBy == nil else { return self }
        let accounts = locked == 1 ? "1 account is" : "\(locked) accounts are"
        return stopped("\(accounts) held locked by another session, such as a deletion")
    }

    fileprivate func doubting(_ count: Int, _ refusal: AppleRefusal) -> TeamTransfer.Run {
        var run = stopped(
            "Apple refused everybody it was asked about last: \(refusal); nothing was recorded about them, since the "
                + "request itself may be wrong"
        )
        run.doubted = count
        return run
    }
}
