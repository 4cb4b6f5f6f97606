#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An account that a lookup found.
package struct AccountMatch: Sendable, Equatable {
    package let id: UUID
    /// What of the term matched.
    package let matched: [LookupKind]
    package let email: String?
    package let phone: String?
    package let providers: [String]
    package let createdAt: Date?
    package let lastSignInAt: Date?
    package let standing: AccountStanding
    /// Whether a legal hold forbids erasing it.
    package let isHeld: Bool
}

/// In what state an account is.
package enum AccountStanding: Sendable, Equatable {
    /// Usable.
    case active
    /// May not sign in.
    case banned(AccountBan)
    /// Deleted by GoTrue's soft delete: the row, the profile and the app's data are still there.
    case softDeleted(at: Date)
    /// Somebody asked for it to be erased.
    case deletion(DeletionInBrief)

    /// The state as a stable word.
    package var word: String {
        switch self {
        case .active: "active"
        case .banned: "banned"
        case .softDeleted: "soft_deleted"
        case .deletion(let deletion): "deletion_\(deletion.state)"
        }
    }
}

/// The open deletion request of an account.
package struct DeletionInBrief: Sendable, Equatable {
    package let request: UUID
    package let state: String
    /// The step that was begun last.
    package let step: String?
    package let requestedAt: Date
    package let legalDeadline: Date
}

/// What a term that no account matches tells of one that is gone.
package struct ErasedAccount: Sendable, Equatable {
    package let request: UUID
    package let requestedAt: Date
    package let erasedAt: Date
    /// nil while the receipt has not been written.
    package let receipt: Int64?
}

/// The answer to a lookup.
package struct LookupAnswer: Sendable, Equatable {
    package let term: LookupTerm
    /// The accounts that match, never more than the limit.
    package let matches: [AccountMatch]
    /// Whether there are more than are shown.
    package let isCut: Bool
    package let erased: [ErasedAccount]
    /// Whether an id was given and nothing could tell if it is that of an erased account, for want of the hash key.
    package let isErasureUnknown: Bool
}
