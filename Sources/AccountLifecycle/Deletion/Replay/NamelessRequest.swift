import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A deletion request that has neither an account nor its hash, which the table's checks forbid.
struct NamelessRequest: Error, CustomStringConvertible {
    let request: UUID

    var description: String { "the deletion request \(request.text) names no account" }
}
