import Postgres

extension DeletionRun {
    /// How long a statement of the trial may take: half an hour for the delete itself, but meanwhile nobody can stop
    /// the request.
    private static let trialDeadline = Duration.seconds(120)

    /// Tries the delete once more where the preflight had no time for it: nobody waits for the account's row now, and
    /// it is the last moment at which all can be taken back.
    ///
    /// - Returns: How the step ends where the delete is refused, or has to wait for Apple's answer to a code. Nil where
    ///   it is not, and where even this was no time enough: rows of large tables, which are tried all at once, go in
    ///   batches.
    /// - Throws: ``Braked`` where the request was stopped meanwhile; what the database refuses but the delete.
    func askOnceMore() async throws -> StepResult? {
        // What Apple holds up has been asked.
        guard record.appleFailures == 0 else { return nil }
        let untried = try await services.pool.withConnection { connection -> DeletionPlan? in
            let plan = try services.catalogs.plan(on: connection)
            guard !plan.questions.isEmpty, plan.reachingOutside.isEmpty else { return nil }
            return try journal.isUntried(on: connection) ? plan : nil
        }
        guard let untried else { return nil }
        // The grant that comes of it has to find the account's row, which the trial keeps.
        if try await services.pool.withConnection({ try isCodeUnderWay(on: $0) }) { return try await waitForCode() }
        let answer: BlockerSearch.Answer = try await patiently(isSlow: true) { _ in
            try await services.pool.withTransaction { connection in
                let deadline = Self.trialDeadline
                try journal.fence(connection, lockTimeout: .seconds(5), deadline: deadline)
                // The wait for the permit may have been long.
                try lookAgain(.revokeApple, on: connection)
                return try await BlockerSearch(untried, user: user).askTriggers(deadline: deadline, on: connection)
            }
        }
        switch answer {
        case .pass: try await services.pool.withConnection { try journal.recordTrial(on: $0) }
        case .unknown: break
        case .refusal(let blocker):
            try await withdrawUnasked()
            return refused(blocker)
        }
        return nil
    }

    /// Ends the step for now, until a code that is under way is exchanged.
    func waitForCode() async throws -> StepResult {
        try await withdrawUnasked()
        return codeIsUnderWay
    }

    /// Takes back that the step began, so that whoever has to decide can cancel; unless this try or another came as far
    /// as Apple, or gave a credential up.
    func withdrawUnasked() async throws {
        try await journal.withdrawUnasked(in: services.pool)
    }
}
