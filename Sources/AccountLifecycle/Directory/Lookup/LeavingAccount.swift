#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A deleted account whose erasure is not finished: its remaining data is searched for, or the deletion waits for
/// somebody.
package struct LeavingAccount: Sendable, Equatable {
    package let id: UUID
    package let deletion: DeletionInBrief
}
