/// In what state an account is, in a word: the same in each list and on each screen.
package enum AccountState: Sendable, Hashable {
    /// Usable.
    case active
    /// May not sign in.
    case banned
    /// Deleted by GoTrue's soft delete.
    case softDeleted
    /// Somebody asked for it to be erased: where that stands.
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
