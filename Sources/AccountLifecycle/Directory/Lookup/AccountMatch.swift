#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An account that a lookup found.
package struct AccountMatch: Sendable, Equatable {
    package let id: UUID
    /// The kinds by which the term matched.
    package let matched: [LookupKind]
    package let email: String?
    package let phone: String?
    package let providers: [String]
    package let createdAt: Date?
    package let lastSignInAt: Date?
    package let standing: AccountStanding
    /// Whether a legal hold forbids erasing it.
    package let isHeld: Bool

    /// Whether the term is the user id, or the id of its deletion request.
    var isNamedByID: Bool { matched.contains { $0 == .userID || $0 == .request } }
}
