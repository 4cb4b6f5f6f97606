#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A ban that is in force now.
package struct AccountBan: Sendable, Equatable {
    /// When it ends; nil for never, an infinite date that Supabase cannot read: it then fails every request of the
    /// account.
    package let until: Date?

    /// Takes a future end as the database has it; nil without one.
    init?(until date: Date?) {
        guard let date else { return nil }
        until = date == .distantFuture ? nil : date
    }
}
