#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A deletion request that has neither an account nor its hash, which the table's checks forbid.
package struct NamelessRequest: Error, CustomStringConvertible {
    package let request: UUID

    package var description: String { "the deletion request \(request.uuidString.lowercased()) names no account" }
}
