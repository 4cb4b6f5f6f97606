import Postgres

/// How the step at Apple ends.
extension DeletionRun {
    /// Says what became of everything held, unless something is held by now.
    ///
    /// - Returns: Whether it is said.
    func concludeApple() async throws -> Bool {
        try await services.pool.withConnection { connection in
            let reckoning = try reckonApple(on: connection)
            guard !reckoning.isOpen else { return false }
            try journal.finish(.revokeApple, reckoning.outcome, StepFacts(counts: reckoning.counts), on: connection)
            return true
        }
    }

    /// The same of a try that had nothing to deal with, unless the step is not to be taken any more.
    ///
    /// Nothing but this end keeps anybody from cancelling. The fence is held until it is said: whoever holds or pauses
    /// the request comes before and is seen, or comes after and sees that the step has ended.
    ///
    /// - Returns: Whether it is said.
    /// - Throws: ``Braked``.
    func concludeUnasked() async throws -> Bool {
        try await services.pool.withTransaction { connection in
            try journal.fence(connection)
            let reckoning = try reckonApple(on: connection)
            guard !reckoning.isOpen else { return false }
            try lookAgain(.revokeApple, on: connection)
            try journal.record(.revokeApple, reckoning.outcome, StepFacts(counts: reckoning.counts), on: connection)
            return true
        }
    }

    /// What is known of the account's credentials.
    func reckonApple(on connection: isolated Connection) throws -> AppleReckoning {
        try AppleReckoning.read(record.id, of: user, apple: services.apple, on: connection)
    }
}
