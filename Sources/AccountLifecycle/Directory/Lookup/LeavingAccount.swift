#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An account that is gone and whose erasure is not finished: what is left of it is searched for, or waits for
/// somebody.
package struct LeavingAccount: Sendable, Equatable {
    package let id: UUID
    package let deletion: DeletionInBrief
}
