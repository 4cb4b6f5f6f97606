import AccountLifecycle
import Foundation
import Postgres

/// Records that a deletion leaves about itself.
extension Stage {
    /// The counts that a step has recorded.
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
