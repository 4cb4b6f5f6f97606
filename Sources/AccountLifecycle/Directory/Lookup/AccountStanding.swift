#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

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
        case .deletion(let deletion): "deletion_\(deletion.state.rawValue)"
        }
    }
}
