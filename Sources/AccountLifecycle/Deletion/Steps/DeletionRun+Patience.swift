import Postgres

extension DeletionRun {
    /// Works on rows of the account, which takes a moment with an index and half an hour without.
    ///
    /// What takes longer than a moment is begun again with a permit, so that slow work leaves a connection to everything else; nothing
    /// that is fast waits for passes over whole tables. No connection is held while waiting for a permit. `body` is given the deadline
    /// of each statement, and leaves nothing when it throws; `isSlow` says that it takes long in any case, or must not be begun twice.
    func patiently<Result: Sendable>(
        isSlow: Bool = false,
        _ body: @Sendable (Duration) async throws -> Result
    ) async throws -> Result {
        let brief = services.policy.briefly
        if !isSlow, brief > .zero {
            do {
                return try await body(brief)
            } catch let error as PostgresError where error.tookTooLong {}
        }
        return try await services.passes.with { _ in try await body(AccountRows.deadline) }
    }
}

extension PostgresError {
    /// Whether a limit of time ended the statement, ours or the server's own, and nothing else is wrong.
    var tookTooLong: Bool {
        connectionUsable && (code == .deadlineExceeded || sqlState == .queryCanceled)
    }

    /// Whether it was a lock that was waited for too long; a statement's limit may be shorter than that of locks.
    var waitedTooLong: Bool { sqlState == .lockNotAvailable || tookTooLong }
}
