/// The ids of what was acted on, as commands take them.
struct ActNames: Sendable {
    /// Its own.
    let id: String
    /// That of its account; nil where nobody knows it any more.
    let account: String?
}
