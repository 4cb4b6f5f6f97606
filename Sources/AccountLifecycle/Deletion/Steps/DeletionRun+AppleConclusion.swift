import Postgres

/// How the step at Apple ends.
extension DeletionRun {
    /// Says what became of everything held, unless something is held by now, or the step is not to be taken any more.
    ///
    /// Once it is said nobody cancels any more, also where nothing was held. The fence is held until then: whoever puts
    /// a hold on the account or pauses the request comes before and is seen, or comes after and is told so.
    ///
    /// - Returns: Whether it is said.
    /// - Throws: ``Braked``.
    func concludeApple() async throws -> Bool {
        try await services.pool.withTransaction { connection in
            try journal.fence(connection)
            try holdBrakesAndLookAgain(.revokeApple, on: connection)
            let reckoning = try reckonApple(on: connection)
            guard !reckoning.isOpen else { return false }
            try journal.record(.revokeApple, reckoning.outcome, StepFacts(counts: reckoning.counts), on: connection)
            return true
        }
    }

    /// What is known of the account's credentials.
    func reckonApple(on connection: isolated Connection) throws -> AppleReckoning {
        try AppleReckoning.read(record.id, of: user, apple: services.apple, on: connection)
    }
}
