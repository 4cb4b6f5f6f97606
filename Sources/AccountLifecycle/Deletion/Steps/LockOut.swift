import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRun {
    /// Bans the account and ends its sessions, in one transaction with the step's own row.
    ///
    /// Everything that could have changed since the preflight is checked again, under the locks that prevent further
    /// changes.
    func lockOut() async throws -> StepResult {
        do {
            return try await services.pool.withTransaction { connection in
                try await lockOut(on: connection)
            }
        } catch let error as LockOutStopped {
            return error.result
        } catch let error as BanRefused {
            return try await result(of: error)
        } catch let error as PostgresError where error.sqlState?.class == .integrityConstraintViolation {
            // Rows that refuse the delete of sessions arrived after the preflight, or were not tried by it: nobody is
            // locked out.
            let plan = try await services.catalogs.plan(in: services.pool)
            return blocked(by: try BlockerSearch.blocker(for: error, among: plan))
        }
    }

    /// The result if a trigger on accounts refused the ban; any other refusal is thrown as a failure.
    private func result(of ban: BanRefused) async throws -> StepResult {
        let plan = try await services.catalogs.plan(in: services.pool)
        guard let blocker = BlockerSearch.blocker(ofBan: ban.cause, among: plan) else { throw ban.cause }
        return blocked(by: blocker)
    }

    private func lockOut(on connection: isolated Connection) async throws -> StepResult {
        // The commit must not wait for the disk under the ceiling's lock, which every lock-out takes; steps wait for
        // the flush before they call another system.
        try journal.fence(connection)
        if let stop = try lockRequest(on: connection) { return stop }
        let account = try lockAccount(on: connection)
        if let account, account.isAnother {
            return .stopped(
                .blocked,
                Situation(.otherAccount),
                lookAgainAfter: DeletionMachine.lookAtOtherAccountAfter
            )
        }
        // A new hold refers to the account's row, which is now locked: the hold is already visible, or comes too late.
        if try DeletionBrakes.hasHold(user, on: connection) {
            return .stopped(.held, Situation(.legalHold))
        }
        if account != nil {
            try renewIdentifiers(on: connection)
            try endSessions(on: connection)
        }
        // Thrown, not returned, to roll back: an account that has to wait is neither banned nor signed out meanwhile.
        if let stop = try passBrakes(on: connection) { throw LockOutStopped(result: stop) }
        do {
            try ban(before: account?.bannedUntil, on: connection)
        } catch let error as PostgresError where BlockerSearch.isRefusal(error) {
            throw BanRefused(cause: error)
        }
        try journal.record(.lockOut, account == nil ? .alreadyGone : .ok, StepFacts(), on: connection)
        return .recorded
    }

    /// Locks the request's row.
    ///
    /// A concurrent cancel comes before or after us, not in between. The app may hold the account's row while it asks
    /// for a status token, which has a foreign key to this row: FOR NO KEY UPDATE lets that pass.
    ///
    /// - Returns: The result of the step if nobody is to be locked out now.
    private func lockRequest(on connection: isolated Connection) throws -> StepResult? {
        let request = try connection.first(
            """
            select finished_at is not null, locked_out_at is not null, paused_at is not null
            from accountctl.deletion_requests
            where id = \(record.id)
            for no key update
            """,
            as: (Bool, Bool, Bool).self
        )
        guard let (hasEnded, isLockedOut, isPaused) = request else { return .recorded }
        if isLockedOut {
            // Another process locked the account out after we recorded the beginning: what it recorded remains true.
            try journal.restore(.lockOut, on: connection)
            return .recorded
        }
        if hasEnded {
            // Cancelled after we recorded the beginning: nobody was locked out, and no record must say so.
            try journal.withdraw(.lockOut, on: connection)
            return .recorded
        }
        guard isPaused else { return nil }
        return .stopped(.held, Situation(.paused))
    }

    /// Locks the account's row, if there is one.
    ///
    /// - Returns: The end of its current ban, and whether it is another account, created since under the same id.
    private func lockAccount(on connection: isolated Connection) throws -> (bannedUntil: String?, isAnother: Bool)? {
        try connection.first(
            """
            select u.banned_until::text, coalesce(\(DeletionBrakes.isCreatedLater), false)
            from auth.users as u
            join accountctl.deletion_requests as r on r.id = \(record.id)
            where u.id = \(user)
            for update of u
            """,
            as: (String?, Bool).self
        ).map { (bannedUntil: $0, isAnother: $1) }
    }

    /// Records the lock-out and bans the account; `bannedUntil` is the end of the ban that this one replaces.
    private func ban(before bannedUntil: String?, on connection: isolated Connection) throws {
        try connection.execute(
            """
            with request as (
                update accountctl.deletion_requests
                set locked_out_at = clock_timestamp(),
                    settle_after = clock_timestamp() + \(services.settling.wholeSeconds) * interval '1 second',
                    banned_until_before = \(bannedUntil)::timestamptz,
                    counted_at = coalesce(counted_at, clock_timestamp()),
                    apple_waiting_since = null,
                    state = 'running'
                where id = \(record.id)
                returning user_id, locked_out_at
            )
            update auth.users as u
            set banned_until = request.locked_out_at + \(LockOutBan.length)
            from request
            where u.id = request.user_id
            """
        )
    }

    /// Adds identifiers that the account has gained since they were collected; the caller holds a lock on its row.
    ///
    /// - Throws: `SealingError` if the stored ones cannot be opened.
    func renewIdentifiers(on connection: isolated Connection) throws {
        let known = try openIdentifiers()
        let new = try IdentifierCollection.read(of: user, on: connection)?.filter { !known.contains($0) } ?? []
        guard !new.isEmpty else { return }
        let sealed = try services.vault.seal(known + new, request: record.id, user: user)
        try connection.execute(IdentifierCollection.storing(sealed, with: record.id))
    }

    /// Ends every session, and deletes what could still be turned into one: tokens in sent mails and unfinished flows.
    private func endSessions(on connection: isolated Connection) throws {
        let deletingFlows = try AuthFlows.deleting(of: [user], onlyOpen: true, on: connection)
        try connection.execute(
            """
            with sessions as (
                \(AccountSessions.endingSessions(of: user))
            ),
            refresh_tokens as (
                \(AccountSessions.deletingOldTokens(of: [user]))
            ),
            one_time_tokens as (
                delete from auth.one_time_tokens where user_id = \(user)
            )
            \(deletingFlows)
            """
        )
    }

    /// Checks the pause and the hourly ceiling, under the locks of both.
    ///
    /// These locks are taken last, since every lock-out needs them.
    private func passBrakes(on connection: isolated Connection) throws -> StepResult? {
        if record.isCounted {
            try connection.execute("select \(DeletionBrakes.holding)")
        } else {
            try connection.execute("select \(DeletionBrakes.holding), \(DeletionBrakes.counting)")
        }
        // In a statement of its own, which sees what was committed while we waited.
        let isPaused = try connection.one(
            "select paused_at is not null from accountctl.deletion_brakes",
            as: Bool.self
        )
        if isPaused {
            return .stopped(.held, Situation(.paused))
        }
        return record.isCounted ? nil : try services.ceiling.lastStop(on: connection)
    }
}

/// A brake stops the lock-out; its transaction is rolled back.
private struct LockOutStopped: Error {
    let result: StepResult
}

/// The database refused the ban.
private struct BanRefused: Error {
    let cause: PostgresError
}
