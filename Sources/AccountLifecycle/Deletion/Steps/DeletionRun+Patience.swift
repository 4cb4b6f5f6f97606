import Postgres
import Waiting

extension DeletionRun {
    /// Runs work on rows of the account, which takes a moment with an index and half an hour without.
    ///
    /// Work that exceeds the brief deadline is started again with a permit, so that slow work leaves a connection for
    /// everything else; fast work never waits for scans of whole tables. No connection is held while waiting for a
    /// permit. `body` receives the deadline for each statement, and must leave nothing behind when it throws. Pass
    /// `isSlow` for work that always takes long, or that must not be started twice.
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
