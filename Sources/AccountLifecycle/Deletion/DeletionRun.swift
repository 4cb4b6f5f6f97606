#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One step of one request: the record on which it was decided, and the services it may use.
struct DeletionRun: Sendable {
    let services: DeletionServices
    let record: DeletionRecord
    let user: UUID
    let journal: DeletionJournal
    /// Called with the longest time that a call to another system may take, before each such call that cannot be
    /// undone.
    let lease: DeletionDriver.LeaseCheck?

    /// Takes a step whose beginning is recorded.
    func take(_ step: DeletionStep) async throws -> StepResult {
        switch step {
        case .preflight: try await preflight()
        case .lockOut: try await lockOut()
        case .revokeApple: try await revokeApple()
        case .deleteAvatars: try await deleteAvatars()
        case .deleteRows: try await deleteRows()
        case .scrubAuth: try await scrubAuth()
        case .verify: try await verify(isLast: false)
        case .settle: try await verify(isLast: true)
        case .receipt: try await writeReceipt()
        }
    }
}
