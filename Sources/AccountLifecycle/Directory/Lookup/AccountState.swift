/// The state of an account in one word, the same in every list and on every screen.
package enum AccountState: Sendable, Hashable {
    /// Usable.
    case active
    /// May not sign in.
    case banned
    /// Deleted by GoTrue's soft delete.
    case softDeleted
    /// Somebody requested its erasure, which is in this state.
    case deletion(DeletionState)

    /// The state as a stable word.
    package var word: String {
        switch self {
        case .active: "active"
        case .banned: "banned"
        case .softDeleted: "soft_deleted"
        case .deletion(let state): "deletion_\(state.rawValue)"
        }
    }
}
