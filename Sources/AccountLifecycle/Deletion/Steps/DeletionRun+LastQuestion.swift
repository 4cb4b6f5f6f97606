import Postgres

extension DeletionRun {
    /// Tries the delete once more where the preflight had no time for it: nobody waits for the account's row now, and it is the last
    /// moment at which all can be taken back.
    ///
    /// - Returns: How the step ends where the delete is refused. Nil where it is not, and where even this was no time enough: rows of
    ///   large tables, which are tried all at once, go in batches.
    func askOnceMore() async throws -> StepResult? {
        // What Apple holds up has been asked.
        guard record.appleFailures == 0 else { return nil }
        let untried = try await services.pool.withConnection { connection -> DeletionPlan? in
            let plan = try services.catalogs.plan(on: connection)
            guard !plan.questions.isEmpty, plan.reachingOutside.isEmpty else { return nil }
            return try journal.isUntried(on: connection) ? plan : nil
        }
        guard let untried else { return nil }
        let answer = try await patiently(isSlow: true) { deadline in
            try await services.pool.withTransaction { connection in
                try journal.fence(connection, lockTimeout: .seconds(5), deadline: deadline)
                return try await BlockerSearch(untried, user: user).askTriggers(deadline: deadline, on: connection)
            }
        }
        switch answer {
        case .pass: try await services.pool.withConnection { try journal.recordTrial(on: $0) }
        case .unknown: break
        case .refusal(let blocker):
            services.catalogs.forget()
            try await services.pool.withTransaction { connection in
                try journal.fence(connection)
                // Whoever has to decide about it can cancel, unless an earlier try has come further.
                try journal.withdraw(.revokeApple, ofRuns: 1, on: connection)
            }
            let situation = Situation(blocker.code, blockers: [blocker])
            return .stopped(.blocked, situation, lookAgainAfter: DeletionMachine.lookAgainAfter)
        }
        return nil
    }
}
