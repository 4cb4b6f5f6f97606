package import Sealing

/// What Apple gave for an authorization code.
package struct AppleGrant: Sendable {
    /// Lives until it is revoked; does not rotate.
    package let refreshToken: Secret<String>
    /// The identity token, unverified.
    ///
    /// Its `sub` must be the expected user's before anything is stored or revoked.
    package let identityToken: Secret<String>?
}

/// What became of a code exchange.
package enum CodeExchangeOutcome: Sendable {
    /// Exchanged.
    case granted(AppleGrant)
    /// `invalid_grant`: expired, used, or issued to another client; or what a test right before was not told: with another
    /// redirect URI, or of a person who has revoked since. Ask the app for a new code.
    case codeRefused(AppleRefusal)
    /// Refused in words that Apple has for codes that people hand in and for our configuration alike. Nothing was granted;
    /// whose fault it is tells ``AppleClient/selfTest()``: what that is not told is about the code.
    case refused(AppleRefusal)
    /// The code was not looked at; the same code may be tried again while it lives.
    case later(AppleDelay)
    /// The code may have been used up without an answer. Never to be repeated: ask the app for a new code.
    case ambiguous(AppleDelay)
}

/// What a refresh check says about a credential.
package enum RefreshCheckOutcome: Sendable {
    /// The grant lives.
    case live
    /// `invalid_grant`: the grant is gone, or the token belongs to another client id. Conclusive only while the same
    /// client id works for others. It may mean a changed password, not a wish to leave.
    case grantGone(AppleRefusal)
    /// `invalid_request`: reported for users who revoked, and for our own mistakes.
    case doubtful(AppleRefusal)
    /// Our configuration; says nothing about the credential.
    case misconfigured(AppleMisconfiguration)
    /// No verdict now.
    case later(AppleDelay)
}

/// What became of a revocation.
package enum RevocationOutcome: Sendable {
    /// HTTP 200 with an empty body, or at least no other than Apple's API could send. Apple says the same for a token
    /// that was dead before, so this is no proof that a live grant ended.
    case revoked
    /// `invalid_grant`: Apple does not know the grant under this client id.
    case grantUnknown(AppleRefusal)
    /// Our configuration; the grant, if any, still stands.
    case misconfigured(AppleMisconfiguration)
    /// No verdict now; a revocation may be repeated freely.
    case later(AppleDelay)
}

/// What the self-test of a client id found.
package enum SelfTestOutcome: Sendable {
    /// A code that cannot exist was refused as such: client, team and key are good.
    case good
    /// Client, team or key is not.
    case misconfigured(AppleMisconfiguration)
    /// No verdict now.
    case later(AppleDelay)
}

/// What became of asking for a token for moving users to another team.
package enum MigrationTokenOutcome: Sendable {
    /// The token and how long it lives.
    case granted(Secret<String>, lifetime: Duration)
    /// Our configuration.
    case misconfigured(AppleMisconfiguration)
    /// No verdict now.
    case later(AppleDelay)
}

/// What became of moving one user to another team.
package enum TransferOutcome<Value: Sendable>: Sendable {
    /// Apple's answer.
    case done(Value)
    /// This user cannot be moved, usually for having revoked before; record and go on with the next.
    case userRefused(AppleRefusal)
    /// The migration token is no longer good; get a new one.
    case tokenExpired
    /// Our configuration; stop the run.
    case misconfigured(AppleMisconfiguration)
    /// No verdict now.
    case later(AppleDelay)
}

/// Who a moved user is in the recipient team.
package struct TransferredUser: Sendable, Hashable {
    /// The new sub.
    package let sub: String
    /// The new address, only where a relay address was in use.
    package let email: String?
    /// Whether the address is a relay address.
    package let isPrivateEmail: Bool?

    /// A moved user.
    init(sub: String, email: String? = nil, isPrivateEmail: Bool? = nil) {
        self.sub = sub
        self.email = email
        self.isPrivateEmail = isPrivateEmail
    }
}

extension TransferredUser: CustomStringConvertible {
    /// Nothing that names the person.
    package var description: String { "<transferred user>" }
}
