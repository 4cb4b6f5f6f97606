/// The ids of an act's target, in the form that commands accept.
struct ActNames: Sendable {
    /// The id of the account or request, whichever the command acts on.
    let id: String
    /// The id of the account; nil if it is no longer known.
    let account: String?
}
