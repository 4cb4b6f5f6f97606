import Postgres

@testable import AccountLifecycle

extension DeletionDesk {
    /// Pauses everything as the desk's operator, waiting no longer than the desk's patience.
    @discardableResult
    func pauseAll(
        reason: String?,
        on connection: isolated Connection
    ) async throws -> (isChanged: Bool, underWay: [StepUnderWay]) {
        let signature = OperatorSignature(name: actor.name, reason: reason)
        return try await Self.pauseAll(by: signature, patience: patience, on: connection)
    }
}
