#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The open deletion request of an account.
package struct DeletionInBrief: Sendable, Equatable {
    package let request: UUID
    package let state: DeletionState
    /// The step that was started last.
    package let step: DeletionStep?
    let requestedAt: Date
    package let legalDeadline: Date
}
