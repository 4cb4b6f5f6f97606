import Logging
import Postgres

extension DeletionRun {
    /// Removes the profile and the auth user with all that cascades, in one short transaction with the step's own row.
    ///
    /// What would stop it is looked for again: the app's tables may have changed since the preflight. Tables with many
    /// rows of the account are emptied before, in batches, deepest first, so that the transaction stays short.
    func deleteRows() async throws -> StepResult {
        let (plan, blockers, shared) = try await patiently { deadline in
            try await services.pool.reading { connection -> (DeletionPlan, [Blocker], Int) in
                let plan = try services.catalogs.plan(on: connection)
                try AccountRows.allow(deadline, on: connection)
                let blockers = try BlockerSearch(plan, user: user)
                    .run(maximumRows: services.policy.maximumRows, deadline: deadline, on: connection)
                return (plan, blockers, try journal.counts(of: .deleteAvatars, on: connection)["shared"] ?? 0)
            }
        }
        if let situation = Situation.blocked(by: blockers) { return refused(situation) }
        do {
            try await emptyLargeTables(of: plan)
            try await services.probe(.middle(.deleteRows))
            // What a trigger does outside, no rollback takes back: it is not to be cut short. Nor is reading all
            // profiles brief.
            let isSlow = !plan.reachingOutside.isEmpty || shared > 0
            return try await patiently(isSlow: isSlow) { deadline in
                try await services.pool.withTransaction { connection in
                    try deleteUser(by: plan, deadline, on: connection)
                }
            }
        } catch let error as DeleteSwallowed {
            return refused(BlockerSearch.blocker(for: error, among: plan))
        } catch let error as PostgresError {
            return refused(try BlockerSearch.blocker(for: error, among: plan))
        }
    }

    /// How a step ends that something refuses which a try met.
    ///
    /// A legal hold that was placed since the step began is told as any other.
    func refused(_ blocker: Blocker) -> StepResult {
        guard blocker == .hold else { return refused(Situation(blocker.code, blockers: [blocker])) }
        return .stopped(.held, Situation(.legalHold), lookAgainAfter: DeletionMachine.lookAgainAfter)
    }

    /// How a step ends that the database refuses; what was read of the catalog may be what is wrong.
    func refused(_ situation: Situation) -> StepResult {
        services.catalogs.forget()
        return .stopped(.blocked, situation, lookAgainAfter: DeletionMachine.lookAgainAfter)
    }

    private func deleteUser(
        by plan: DeletionPlan,
        _ deadline: Duration,
        on connection: isolated Connection
    ) throws -> StepResult {
        // Reads all profiles: before anybody has to wait for our locks.
        if try isLastToNameAnObject(in: plan.profiles, on: connection) { return .back(to: .deleteAvatars) }
        try journal.fence(connection, lockTimeout: .seconds(5), deadline: deadline)
        // The last look at the brakes: nothing can be undone after this.
        if try lockAndLookAgain(.deleteRows, on: connection) {
            // A team's transfer or support may have given the account an address since the lock-out: nothing tells of
            // it any more once the rows are gone. Before Apple, whose step forgets the name of a grant that came late.
            try renewIdentifiers(on: connection)
            if try isAppleOpen(on: connection) { return .back(to: .revokeApple) }
        }
        try waitForLateTokens(on: connection)
        let existed = try AccountRows.delete(user, by: plan, deadline: deadline, on: connection)
        // Together with what was deleted when the step was done before.
        let counts = try journal.counts(of: .deleteRows, on: connection)
            .merging(["users": existed ? 1 : 0, "batched_rows": 0], uniquingKeysWith: +)
        let outcome: StepOutcome = counts["users"] == 0 ? .alreadyGone : .ok
        try journal.record(.deleteRows, outcome, StepFacts(counts: counts), on: connection)
        return .recorded
    }

    /// Whether an object stayed since another account named it, and none does any more: it would stay for ever.
    ///
    /// One of which nobody said whose it is stays in any case.
    ///
    /// Those whom this is about go one after another: of two who leave at once, the second sees that the first is gone.
    private func isLastToNameAnObject(
        in profiles: DeletionCatalog.Profiles?,
        on connection: isolated Connection
    ) throws -> Bool {
        guard let profiles, try journal.counts(of: .deleteAvatars, on: connection)["shared"] ?? 0 > 0 else {
            return false
        }
        try connection.execute("select pg_advisory_xact_lock(hashtextextended('accountctl.shared_objects', 0))")
        return try AccountObjects.findNamed(
            by: [user],
            profiles: profiles,
            folders: services.policy.avatarFolders,
            on: connection
        )
        .contains { $0.fate == .own }
    }

    /// Whether a code or a credential came in since revoking ended; it would go with the account, and the grant live on
    /// at Apple.
    ///
    /// Looked at under the lock of the account's row, which whoever brings one has to take. Where nothing is to be
    /// revoked, but what is known is not what was said, it is said anew.
    private func isAppleOpen(on connection: isolated Connection) throws -> Bool {
        let reckoning = try reckonApple(on: connection)
        if reckoning.isOpen { return true }
        if !reckoning.isRecorded {
            try journal.record(.revokeApple, reckoning.outcome, StepFacts(counts: reckoning.counts), on: connection)
        }
        return false
    }

    /// Counts the life of access tokens, and of what they can have signed, from now where a session was begun since the
    /// lock-out, or the ban was lifted so that one could be: by a sign-in that was under way, or by an administrator.
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

    /// Whether rows of a table are looked at under the lock under which the account goes, and therefore not emptied
    /// before; an account has few of them.
    ///
    /// Identities tell whether a grant that came late is the account's own, sessions whether somebody signed in since
    /// the lock-out.
    private static func goesWithTheAccount(_ table: TableName) -> Bool {
        table.schema == "accountctl" || (table.schema == "auth" && ["identities", "sessions"].contains(table.name))
    }

    /// Deletes rows of tables that hold many of the account, a batch a transaction; what we have no right to delete
    /// from is left to the cascade, which runs as the table's owner.
    ///
    /// A connection is held for one batch: an account may have millions of rows, and others need a connection for a
    /// moment. A table of which the database refuses a batch is left at that: what refers to its rows may go together
    /// with them alone, and the transaction that takes both tells whether it does not.
    private func emptyLargeTables(of plan: DeletionPlan) async throws {
        let batch = services.policy.batchRows
        let large = plan.parts
            .filter { part in part.isDeletable && part.reachedBy.contains { $0.estimatedRows > batch } }
            .filter { !Self.goesWithTheAccount($0.table) }
            .sorted { $0.depth > $1.depth }
        for part in large {
            let going = plan.rowsGoingBeforehand(of: part, user: user)
            let deleting = going.deleting(upTo: batch)
            var deleted = batch
            while deleted * going.conditions.count >= batch {
                try Task.checkCancellation()
                do {
                    deleted = try await deleteBatch(deleting, by: plan)
                } catch let error as PostgresError where BlockerSearch.isRefusal(error) {
                    services.logger(for: record.id).notice(
                        "the database refuses a batch: the rows of this table are to go with the account",
                        metadata: ["table": "\(part.table)", "error": "\(error)"]
                    )
                    break
                }
                try await services.probe(.between(.deleteRows))
            }
        }
    }

    /// Deletes and counts one batch.
    ///
    /// - Throws: ``PostgresError``, also of checks that wait for the end of the transaction.
    private func deleteBatch(_ deleting: Statement, by plan: DeletionPlan) async throws -> Int {
        try await patiently(isSlow: !plan.reachingOutside.isEmpty) { deadline in
            try await services.pool.withTransaction { connection in
                try journal.fence(connection, lockTimeout: .seconds(5), deadline: deadline)
                try lockAndLookAgain(.deleteRows, on: connection)
                let rows = try connection.execute(deleting, deadline: deadline)
                if rows > 0 { try journal.add(["batched_rows": rows], to: .deleteRows, on: connection) }
                return rows
            }
        }
    }
}
