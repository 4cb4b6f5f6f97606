#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A ban that holds now.
package struct AccountBan: Sendable, Equatable {
    /// When it ends; nil for never, a date that Supabase cannot read: it then fails every request of the account.
    package let until: Date?

    /// Takes the date as the database has it, where it lies ahead; nil without one.
    init?(until date: Date?) {
        guard let date else { return nil }
        until = date == .distantFuture ? nil : date
    }
}
