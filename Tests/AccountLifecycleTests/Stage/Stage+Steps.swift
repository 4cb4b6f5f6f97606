import AccountLifecycle
import Foundation
import Postgres

/// What a deletion leaves behind about itself.
extension Stage {
    /// What a step has counted.
    func counts(of step: DeletionStep, _ request: UUID) async throws -> [String: Int] {
        try await value(
            """
            select facts -> 'counts'
            from accountctl.deletion_steps
            where request_id = \(request) and step = \(step.rawValue)
            """,
            as: JSON<[String: Int]>.self
        ).value
    }

    /// The receipt, as it was issued.
    func receipt(of request: UUID) async throws -> ReceiptDocument {
        try await value(
            "select document from accountctl.deletion_receipts where request_id = \(request)",
            as: JSON<ReceiptDocument>.self
        ).value
    }
}
