/// A refusal that is about us: no user's credential is to be judged by it.
package struct AppleMisconfiguration: Sendable, Hashable, CustomStringConvertible {
    /// What Apple refused.
    package enum Kind: String, Sendable, Hashable {
        /// `invalid_client`: the client secret was not taken. Trips the breaker of this client id.
        case clientRejected
        /// `unauthorized_client`.
        case clientNotAllowed
        /// `invalid_request` and the codes that mean a malformed request.
        case requestRejected
    }

    /// What Apple refused.
    package let kind: Kind
    /// The client id in use.
    package let clientID: String
    /// The team in use.
    let teamID: String
    /// The key in use.
    let keyID: String
    /// Apple's answer.
    let refusal: AppleRefusal?

    /// A misconfiguration, for stand-ins.
    init(kind: Kind, identity: AppleClientIdentity, refusal: AppleRefusal?) {
        self.kind = kind
        self.clientID = identity.clientID
        self.teamID = identity.teamID
        self.keyID = identity.keyID
        self.refusal = refusal
    }

    /// What is wrong, with which client, team and key, and where to look.
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
