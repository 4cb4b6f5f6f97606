import JobQueue
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension DeletionRehearsal {
    /// How far a rehearsal would get.
    package struct Foresight: Sendable {
        /// The request as it would be left, or as it is when its next step begins; without its job, which nobody holds
        /// then.
        package let details: DeletionDetails
        /// The step with which it would begin; nil if none is taken now.
        package let nextStep: DeletionStep?
    }

    /// Finds out how far ``drive(with:control:)`` would get, and records that as a run does, in the transaction in
    /// which the rehearsal was begun; the caller rolls it back.
    ///
    /// Apple and Storage are not asked. Triggers are tried if a rollback undoes whatever they do.
    ///
    /// - Parameters:
    ///   - user: the account.
    ///   - policy: the policy of the run.
    ///   - connection: the connection to use.
    /// - Returns: nil if the request is gone.
    /// - Throws: `PostgresError`.
    package func foresee(
        of user: UUID,
        by policy: DeletionPolicy,
        on connection: isolated Connection
    ) async throws -> Foresight? {
        let journal = DeletionJournal(request: request, fence: hold.fence)
        guard let record = try DeletionRecord.load(request, on: connection) else { return nil }
        var nextStep: DeletionStep?
        switch DeletionMachine.next(record.facts) {
        case .end: break
        case .wait(let state, let situation, _): try journal.stop(state, situation, on: connection)
        case .perform(let step, let state):
            if let (state, situation) = try await stop(before: step, record, user, policy, on: connection) {
                try journal.stop(state, situation, on: connection)
            } else {
                _ = try journal.begin(step, state, on: connection)
                nextStep = step
            }
        }
        guard var details = try DeletionDetails.read(request, on: connection) else { return nil }
        details.job = nil
        return Foresight(details: details, nextStep: nextStep)
    }

    /// The obstacle that the preflight would find; nil if there is none, or if the request is past the preflight.
    private func stop(
        before step: DeletionStep,
        _ record: DeletionRecord,
        _ user: UUID,
        _ policy: DeletionPolicy,
        on connection: isolated Connection
    ) async throws -> (DeletionState, Situation)? {
        guard step <= .lockOut else { return nil }
        if !record.isCounted,
            case .stopped(let state, let situation, _) = try HourlyCeiling(configured: policy.hourlyCeiling)
                .stop(request, on: connection)
        {
            return (state, situation)
        }
        let preview = try await DeletionPreview.read(user, policy: policy, asksTriggers: true, on: connection)
        return preview?.obstacle.map { (.blocked, $0) }
    }
}
