import Postgres

/// How the Apple step ends.
extension DeletionRun {
    /// Records the outcome for all credentials, unless one is held by now, or the step is not to be taken any more.
    ///
    /// Once it is recorded, nobody can cancel any more, even if no credential was held. The fence is held until the
    /// commit: whoever places a hold on the account or pauses the request comes before and is seen, or comes after and
    /// is told that the step was done.
    ///
    /// - Returns: Whether the outcome is recorded.
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

    /// Reads what is known of the account's credentials.
    func reckonApple(on connection: isolated Connection) throws -> AppleReckoning {
        try AppleReckoning.read(record.id, of: user, apple: services.apple, on: connection)
    }
}
