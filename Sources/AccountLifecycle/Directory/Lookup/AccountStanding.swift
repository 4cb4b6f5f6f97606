#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The state of an account, with the facts behind it.
package enum AccountStanding: Sendable, Equatable {
    /// Usable.
    case active
    /// May not sign in.
    case banned(AccountBan)
    /// Deleted by GoTrue's soft delete: the row, the profile and the app's data are still there.
    case softDeleted(at: Date)
    /// Somebody requested its erasure.
    case deletion(DeletionInBrief)

    /// The state alone.
    package var state: AccountState {
        switch self {
        case .active: .active
        case .banned: .banned
        case .softDeleted: .softDeleted
        case .deletion(let deletion): .deletion(deletion.state)
        }
    }
}
