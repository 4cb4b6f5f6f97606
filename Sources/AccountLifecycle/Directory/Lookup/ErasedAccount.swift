#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is known of an erased account that a term names.
package struct ErasedAccount: Sendable, Equatable {
    package let request: UUID
    let requestedAt: Date
    package let erasedAt: Date
    /// nil while the receipt has not been written.
    package let receipt: Int64?
}
