/// What can be done when a credential has died.
package enum CredentialReaction: Sendable, Hashable {
    /// End every session of the account.
    case signOut
    /// Forget the refresh tokens, which are dead.
    case forgetCredential
    /// Note on the account what Apple said about its identity.
    case markIdentity
    /// Open a deletion request, with grace.
    case requestDeletion
}

/// What is done about each event; see ``CredentialRules`` for when nothing is.
package struct CredentialPolicy: Sendable, Hashable {
    /// When the person, or we, ended the app's use.
    ///
    /// A sign-out, not of itself an order to erase.
    package var consentRevoked: Set<CredentialReaction> = [.signOut, .forgetCredential, .markIdentity]
    /// When the person had the whole Apple Account deleted.
    package var accountDeleted: Set<CredentialReaction> = [
        .signOut, .forgetCredential, .markIdentity, .requestDeletion,
    ]
    /// When the daily check, or a device confirmed by a check, finds the grant gone: perhaps for a changed password
    /// alone.
    package var grantGone: Set<CredentialReaction> = [.signOut, .forgetCredential, .markIdentity]
    /// The grace of deletions that Apple asks for; nil for the setting of all deletions.
    var deletionGrace: Duration?
    /// The time between two checks of one credential.
    ///
    /// Apple asks for at most one a day.
    var checkInterval: Duration = .seconds(86_400)

    /// The default policy.
    package init() {}
}
