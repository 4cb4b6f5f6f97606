/// A refusal caused by our configuration, which says nothing about any user's credential.
package struct AppleMisconfiguration: Sendable, Hashable, CustomStringConvertible {
    /// The client id in use.
    package let clientID: String
    /// The team id in use.
    let teamID: String
    /// The key id in use.
    let keyID: String
    /// Apple's answer.
    package let refusal: AppleRefusal

    init(_ refusal: AppleRefusal, of identity: AppleClientIdentity) {
        clientID = identity.clientID
        teamID = identity.teamID
        keyID = identity.keyID
        self.refusal = refusal
    }

    /// The problem, the client, team and key concerned, and where to look.
    package var description: String {
        let answer = "Apple says \(refusal) for client \(clientID), team \(teamID), key \(keyID)"
        return switch refusal.code {
        case .invalidClient:
            "\(answer): the team has no such client; the key is not of this team, was revoked, has another id, or is "
                + "not enabled for the primary App ID of this client; or this machine's clock is wrong"
        case .unauthorizedClient: "\(answer): this client may not use Sign in with Apple this way"
        case .invalidRequest, .invalidGrant, .unsupportedGrantType, .invalidScope, .other:
            "\(answer): the request was not understood"
        }
    }
}
