#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a term that no account matches tells of one that is gone.
package struct ErasedAccount: Sendable, Equatable {
    package let request: UUID
    let requestedAt: Date
    package let erasedAt: Date
    /// nil while the receipt has not been written.
    package let receipt: Int64?
}
