import Postgres

extension DeletionRun {
    /// Removes the profile and the auth user, with all rows that cascade, in one short transaction with the step's own
    /// row.
    ///
    /// Blockers are searched for again, since the app's tables may have changed after the preflight. Tables with many
    /// rows of the account are emptied first, in batches, deepest first, to keep the transaction short; all others, too,
    /// once it takes too long.
    func deleteRows() async throws -> StepResult {
        let (plan, blockers, large, shared) = try await patiently { deadline in
            try await services.pool.reading { connection -> (DeletionPlan, [Blocker], [DeletionPlan.Part], Int) in
                let plan = try services.catalogs.plan(on: connection)
                try AccountRows.allow(deadline, on: connection)
                let blockers = try BlockerSearch(plan, user: user)
                    .run(maximumRows: services.policy.maximumRows, deadline: deadline, on: connection)
                let large = try blockers.isEmpty ? largeTables(of: plan, deadline, on: connection) : []
                return (plan, blockers, large, try journal.counts(of: .deleteAvatars, on: connection)["shared"] ?? 0)
            }
        }
        if let situation = Situation.blocked(by: blockers) { return blocked(by: situation) }
        do {
            try await empty(large, by: plan)
            try await services.probe(.middle(.deleteRows))
            // No rollback undoes what a trigger does outside the database, so the statement must not be cut short and
            // repeated. Reading all profiles takes long, too.
            let isSlow = !plan.reachingOutside.isEmpty || shared > 0
            do {
                return try await deleteUser(by: plan, isSlow: isSlow)
            } catch let error as PostgresError where error.tookTooLong {
                // For each row, the server reads the whole of every table that refers to it without an index: few rows
                // may take long, too. If none can go beforehand, a second attempt right away would take as long.
                guard try await empty(tablesToEmpty(of: plan), by: plan) > 0 else { throw error }
                return try await deleteUser(by: plan, isSlow: isSlow)
            }
        } catch let error as DeleteSwallowed {
            return blocked(by: BlockerSearch.blocker(for: error, among: plan))
        } catch let error as PostgresError {
            return blocked(by: try BlockerSearch.blocker(for: error, among: plan))
        }
    }

    private func deleteUser(by plan: DeletionPlan, isSlow: Bool) async throws -> StepResult {
        try await patiently(isSlow: isSlow) { deadline in
            try await services.pool.withTransaction { connection in
                try deleteUser(by: plan, deadline, on: connection)
            }
        }
    }

    private func deleteUser(
        by plan: DeletionPlan,
        _ deadline: Duration,
        on connection: isolated Connection
    ) throws -> StepResult {
        // Reads all profiles, so it comes before we take locks for which others wait.
        if try isLastToNameAnObject(on: connection) { return .back(to: .deleteAvatars) }
        try journal.fence(connection, deadline: deadline)
        // The last check of the brakes: nothing can be undone after this.
        if try lockAndLookAgain(.deleteRows, on: connection) {
            // A team transfer or support may have given the account an address since the lock-out, which is unknown
            // once the rows are gone. This comes before the return to the Apple step, which erases the name of a grant
            // that came late.
            try renewIdentifiers(on: connection)
            if try isAppleOpen(on: connection) { return .back(to: .revokeApple) }
        }
        try waitForLateTokens(on: connection)
        let existed = try AccountRows.delete(user, by: plan, deadline: deadline, on: connection)
        // Includes what was deleted when the step was done before.
        let counts = try journal.counts(of: .deleteRows, on: connection)
            .merging(["users": existed ? 1 : 0, "batched_rows": 0], uniquingKeysWith: +)
        let outcome: StepOutcome = counts["users"] == 0 ? .alreadyGone : .ok
        try journal.record(.deleteRows, outcome, StepFacts(counts: counts), on: connection)
        return .recorded
    }

    /// Whether an object was kept because another account named it, and no other account does any more: it would then
    /// stay forever.
    ///
    /// An object whose owner nobody has configured stays in any case.
    ///
    /// The advisory lock makes the accounts concerned go one after another: of two that leave at once, the second sees
    /// that the first is gone.
    private func isLastToNameAnObject(on connection: isolated Connection) throws -> Bool {
        guard try journal.counts(of: .deleteAvatars, on: connection)["shared"] ?? 0 > 0,
            // Not by the plan, which may be some seconds old, as for the files themselves.
            let profiles = try DeletionCatalog.readProfiles(on: connection)
        else { return false }
        try connection.execute("select pg_advisory_xact_lock(hashtextextended('accountctl.shared_objects', 0))")
        return try AccountObjects.findNamed(
            by: [user],
            profiles: profiles,
            folders: services.policy.avatarFolders,
            on: connection
        )
        .contains { $0.fate == .own }
    }

    /// Whether a code or a credential arrived after the Apple step ended: it would be deleted with the account, while
    /// the grant stayed valid at Apple.
    ///
    /// Checked under the lock on the account's row, which is needed to store a code or a credential. If nothing is to
    /// be revoked but the outcome differs from the recorded one, it is recorded again.
    private func isAppleOpen(on connection: isolated Connection) throws -> Bool {
        let reckoning = try reckonApple(on: connection)
        if reckoning.isOpen { return true }
        if !reckoning.isRecorded {
            try journal.record(.revokeApple, reckoning.outcome, StepFacts(counts: reckoning.counts), on: connection)
        }
        return false
    }

    /// Restarts the wait for access tokens, and for uploads signed for them, if a session was started since the
    /// lock-out, or if the ban was lifted so that one could be: by a sign-in in progress, or by an administrator.
    private func waitForLateTokens(on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.deletion_requests as r
            set settle_after = clock_timestamp() + \(services.settling.wholeSeconds) * interval '1 second'
            from auth.users as u
            where r.id = \(record.id)
              and u.id = r.user_id
              and (
                  u.banned_until is null
                  or u.banned_until <= clock_timestamp()
                  or exists (select from auth.sessions as s where s.user_id = u.id)
              )
            """
        )
    }
}
