import Postgres
import Waiting

extension DeletionRun {
    /// Works on rows of the account, which takes a moment with an index and half an hour without.
    ///
    /// What takes longer than a moment is begun again with a permit, so that slow work leaves a connection to
    /// everything else; nothing that is fast waits for passes over whole tables. No connection is held while waiting
    /// for a permit. `body` is given the deadline of each statement, and leaves nothing when it throws; `isSlow` says
    /// that it takes long in any case, or must not be begun twice.
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
