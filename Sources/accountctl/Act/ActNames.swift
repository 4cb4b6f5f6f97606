/// The ids of what was acted on, as commands take them.
struct ActNames: Sendable {
    /// The id of the account or request that was acted on.
    let id: String
    /// The id of the account; nil where nobody knows it any more.
    let account: String?
}
