import Postgres

extension DeletionRun {
    /// How long a statement of the trial may take: the delete itself may take half an hour, but during the trial nobody
    /// can stop the request.
    private static let trialDeadline = Duration.seconds(120)

    /// Tries the delete once more if the preflight had too little time for it: nobody waits for the account's row any
    /// more, and this is the last moment at which everything can be undone.
    ///
    /// - Returns: How the step ends if the delete is refused, or has to wait for Apple's answer to a code. Nil if the
    ///   delete is not refused, and if even this time was too short: the trial deletes the rows of large tables all at
    ///   once, the step itself in batches.
    /// - Throws: ``Braked`` if the request was stopped meanwhile; ``PlanOvertaken``; database errors other than a
    ///   refusal of the delete.
    func askOnceMore() async throws -> StepResult? {
        // A request that Apple holds up has already had its trial.
        guard record.appleFailures == 0 else { return nil }
        let plan = try await services.catalogs.plan(in: services.pool)
        guard !plan.questions.isEmpty, plan.reachingOutside.isEmpty,
            try await services.pool.withConnection({ try journal.isUntried(on: $0) })
        else { return nil }
        // Storing the grant for the code needs the account's row, which the trial keeps locked.
        if try await services.pool.withConnection({ try isCodeUnderWay(on: $0) }) { return try await waitForCode() }
        let answer: BlockerSearch.Answer = try await patiently(isSlow: true) { _ in
            // The wait for the permit may have been long.
            let plan = try await services.catalogs.plan(in: services.pool)
            return try await services.pool.withTransaction { connection in
                let deadline = Self.trialDeadline
                try journal.fence(connection, deadline: deadline)
                try lookAgain(.revokeApple, on: connection)
                return try await BlockerSearch(plan, user: user).askTriggers(deadline: deadline, on: connection)
            }
        }
        switch answer {
        case .pass: try await services.pool.withConnection { try journal.recordTrial(on: $0) }
        case .unknown: break
        case .refusal(let blocker):
            try await withdrawUnasked()
            return blocked(by: blocker)
        }
        return nil
    }

    /// Ends the step for now, until the pending code is exchanged.
    func waitForCode() async throws -> StepResult {
        try await withdrawUnasked()
        return .stopped(.running, Situation(.codeUnderWay), lookAgainAfter: .seconds(5))
    }

    /// Withdraws the beginning of the step, so that whoever has to decide can still cancel; unless this attempt or
    /// another has reached Apple, or has given a credential up.
    func withdrawUnasked() async throws {
        try await journal.withdrawUnasked(in: services.pool)
    }
}
