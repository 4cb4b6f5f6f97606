package import Sealing

/// Apple's answer to an authorization code.
package struct AppleGrant: Sendable {
    /// The refresh token, which lives until it is revoked and does not rotate.
    package let refreshToken: Secret<String>
    /// The identity token, unverified.
    ///
    /// Before anything is stored or revoked, its `sub` must be checked against the expected user's.
    package let identityToken: Secret<String>?
}

/// The outcome of a code exchange.
package enum CodeExchangeOutcome: Sendable {
    /// The code was exchanged.
    case granted(AppleGrant)
    /// Apple refused the code: it is expired, used, or issued to another client (`invalid_grant`), or the client passed
    /// a test just before this call, so that the refusal is about the code, such as another redirect URI or a person
    /// who has revoked since. Ask the app for a new code.
    case codeRefused(AppleRefusal)
    /// Apple refused the code with an error that means either a bad code or a bad configuration. Nothing was granted.
    /// ``AppleClient/selfTest()`` tells which: if the test is good, the code is at fault.
    case refused(AppleRefusal)
    /// Apple did not process the code; the same code may be retried while it lives.
    case later(AppleDelay)
    /// The code may have been used up without an answer. Never retry it: ask the app for a new code.
    case ambiguous(AppleDelay)
}

/// The outcome of a refresh check.
package enum RefreshCheckOutcome: Sendable {
    /// The grant is valid.
    case live
    /// `invalid_grant`: the grant is gone, or the token belongs to another client id. Conclusive only while the same
    /// client id works for others. The cause may be a changed password rather than a wish to leave.
    case grantGone(AppleRefusal)
    /// `invalid_request`: reported for users who revoked, but also caused by our own mistakes.
    case doubtful(AppleRefusal)
    /// Our configuration is at fault; this says nothing about the credential.
    case misconfigured(AppleMisconfiguration)
    /// No verdict for now.
    case later(AppleDelay)
}

/// The outcome of a revocation.
package enum RevocationOutcome: Sendable {
    /// HTTP 200 with an empty body or a JSON object without an error. Apple answers the same for a token that was
    /// already dead, so this does not prove that a live grant ended.
    case revoked
    /// `invalid_grant`: Apple does not know the grant under this client id.
    case grantUnknown(AppleRefusal)
    /// Our configuration is at fault; the grant, if any, remains.
    case misconfigured(AppleMisconfiguration)
    /// No verdict for now; a revocation may be retried freely.
    case later(AppleDelay)
}

/// The result of a client id's self-test.
package enum SelfTestOutcome: Sendable {
    /// Apple refused a code that cannot exist as such: client, team and key are good.
    case good
    /// Client, team or key is wrong.
    case misconfigured(AppleMisconfiguration)
    /// No verdict for now.
    case later(AppleDelay)
}

/// The outcome of requesting a token for transferring users to another team.
package enum MigrationTokenOutcome: Sendable {
    /// The token and its lifetime.
    case granted(Secret<String>, lifetime: Duration)
    /// Our configuration is at fault.
    case misconfigured(AppleMisconfiguration)
    /// No verdict for now.
    case later(AppleDelay)
}

/// The outcome of transferring one user to another team.
package enum TransferOutcome<Value: Sendable>: Sendable {
    /// The transfer step succeeded.
    case done(Value)
    /// This user cannot be transferred, usually because of an earlier revocation; record it and continue.
    case userRefused(AppleRefusal)
    /// The migration token is no longer valid; request a new one.
    case tokenExpired
    /// Our configuration is at fault; stop the run.
    case misconfigured(AppleMisconfiguration)
    /// No verdict for now.
    case later(AppleDelay)
}

/// A transferred user in the recipient team.
package struct TransferredUser: Sendable, Hashable {
    /// The new sub.
    package let sub: String
    /// The new address, only if the user had a relay address.
    package let email: String?
    /// Whether the address is a relay address.
    package let isPrivateEmail: Bool?
}

extension TransferredUser: CustomStringConvertible {
    /// A placeholder without personal data.
    package var description: String { "<transferred user>" }
}
