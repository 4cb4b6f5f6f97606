/// What can be done when a credential is no longer valid.
package enum CredentialReaction: Sendable, Hashable {
    /// End every session of the account.
    case signOut
    /// Delete the refresh tokens, which are no longer valid.
    case forgetCredential
    /// Record on the account what Apple said about its identity.
    case markIdentity
    /// Open a deletion request with a grace period.
    case requestDeletion
}

/// The reactions to each kind of event; ``CredentialRules`` decides when there are none.
package struct CredentialPolicy: Sendable, Hashable {
    /// The reactions when the person, or we, ended the use of Sign in with Apple in the app.
    ///
    /// That is a sign-out, and not by itself a request to erase the account.
    package var consentRevoked: Set<CredentialReaction> = [.signOut, .forgetCredential, .markIdentity]
    /// The reactions when the person had the whole Apple Account deleted.
    package var accountDeleted: Set<CredentialReaction> = [
        .signOut, .forgetCredential, .markIdentity, .requestDeletion,
    ]
    /// The reactions when the daily check, or one that confirms a device's report, finds the grant gone.
    ///
    /// The cause may be just a changed password.
    package var grantGone: Set<CredentialReaction> = [.signOut, .forgetCredential, .markIdentity]

    /// The default policy.
    package init() {}
}
