/// A refusal caused by our configuration, which says nothing about any user's credential.
package struct AppleMisconfiguration: Sendable, Hashable, CustomStringConvertible {
    /// What Apple refused.
    package enum Kind: String, Sendable, Hashable {
        /// `invalid_client`: Apple rejected the client secret. Trips the breaker of this client id.
        case clientRejected
        /// `unauthorized_client`.
        case clientNotAllowed
        /// `invalid_request` and the other codes for a malformed request.
        case requestRejected
    }

    /// What Apple refused.
    package let kind: Kind
    /// The client id in use.
    package let clientID: String
    /// The team id in use.
    let teamID: String
    /// The key id in use.
    let keyID: String
    /// Apple's answer.
    let refusal: AppleRefusal?

    /// Creates a misconfiguration for stand-ins.
    init(kind: Kind, identity: AppleClientIdentity, refusal: AppleRefusal?) {
        self.kind = kind
        self.clientID = identity.clientID
        self.teamID = identity.teamID
        self.keyID = identity.keyID
        self.refusal = refusal
    }

    /// The problem, the client, team and key concerned, and where to look.
    package var description: String {
        let said = refusal.map { "Apple says \($0)" } ?? "no answer"
        let who = "client \(clientID), team \(teamID), key \(keyID)"
        return switch kind {
        case .clientRejected:
            "\(said) for \(who): the team has no such client; the key is not of this team, was revoked, has another id, or "
                + "is not enabled for the primary App ID of this client; or this machine's clock is wrong"
        case .clientNotAllowed: "\(said) for \(who): this client may not use Sign in with Apple this way"
        case .requestRejected: "\(said) for \(who): the request was not understood"
        }
    }
}
