/// What can be done when a credential has died, as settings name it.
package enum AppleReaction: String, Sendable, Hashable, CaseIterable {
    /// End every session of the account.
    case signOut = "sign-out"
    /// Forget the refresh tokens, which are dead.
    case forgetCredential = "forget"
    /// Note on the account what Apple said about its identity.
    case markIdentity = "mark"
    /// Open a deletion request, with grace.
    case requestDeletion = "request-deletion"
}
