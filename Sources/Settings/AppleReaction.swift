/// A reaction to a dead credential, as named in the settings.
package enum AppleReaction: String, Sendable, Hashable, CaseIterable {
    /// End every session of the account.
    case signOut = "sign-out"
    /// Delete the refresh tokens, which are dead.
    case forgetCredential = "forget"
    /// Record on the account what Apple reported about its identity.
    case markIdentity = "mark"
    /// Open a deletion request with a grace period.
    case requestDeletion = "request-deletion"
}
