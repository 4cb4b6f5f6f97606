#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AppleState {
    /// An authorization that a request ended, for the notification that follows.
    struct Ended: Sendable {
        let person: Int
        let teamID: String
        let group: String
    }

    /// `POST /auth/revoke`: nil if the token was unknown or already dead, which also counts as success.
    mutating func revoke(_ form: FormBody, now: Date) throws(AppleError) -> Ended? {
        let caller = try authenticate(form, now: now)
        guard let text = form["token"] else { throw .request("token is missing") }
        let hint = form["token_type_hint"]
        guard hint == nil || hint == "refresh_token" || hint == "access_token" else {
            throw .request("an unknown token_type_hint")
        }
        guard CompactJWS(text) == nil else { throw .request("an identity token is not accepted") }

        let authorization: Int
        if let token = refreshTokens[text] {
            guard hint != "access_token" else { throw .request("the hint does not fit the token") }
            guard token.clientID == caller.client.id, token.teamID == caller.teamID else {
                throw .grant("a token of another client")
            }
            guard isLive(token) else { return nil }
            authorization = token.authorization
        } else if let token = accessTokens[text], let granted = token.authorization {
            guard hint != "refresh_token" else { throw .request("the hint does not fit the token") }
            guard token.clientID == caller.client.id, token.teamID == caller.teamID else {
                throw .grant("a token of another client")
            }
            guard now.timeIntervalSince(token.issuedAt) <= AppleConstants.accessTokenLife else { return nil }
            authorization = granted
        } else {
            return nil
        }
        guard end(authorization, now: now) else { return nil }
        let ended = authorizations[authorization]
        return Ended(person: ended.person, teamID: ended.teamID, group: ended.group)
    }
}
