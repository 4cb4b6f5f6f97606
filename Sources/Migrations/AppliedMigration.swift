#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A row of the migration history.
package struct AppliedMigration: Sendable, Equatable {
    let number: Int
    let name: String
    let bundle: String
    let checksum: String
    package let appliedAt: Date
    /// The database role that applied it.
    package let appliedBy: String
    package let milliseconds: Int
    /// The version of the program that applied it.
    package let version: String
}
