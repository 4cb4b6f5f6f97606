import AccountLifecycle
import Settings

extension WorkerServices {
    /// The configured reactions to credentials that are no longer valid.
    static func credentialPolicy(_ settings: AppleSettings) -> CredentialPolicy {
        var policy = CredentialPolicy()
        policy.consentRevoked = Set(settings.onConsentRevoked.map { CredentialReaction($0) })
        policy.accountDeleted = Set(settings.onAccountDeleted.map { CredentialReaction($0) })
        policy.grantGone = Set(settings.onGrantGone.map { CredentialReaction($0) })
        return policy
    }
}

extension CredentialReaction {
    /// The reaction that a setting names.
    fileprivate init(_ named: AppleReaction) {
        switch named {
        case .signOut: self = .signOut
        case .forgetCredential: self = .forgetCredential
        case .markIdentity: self = .markIdentity
        case .requestDeletion: self = .requestDeletion
        }
    }
}
