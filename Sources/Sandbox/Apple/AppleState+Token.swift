import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The answer of `/auth/token`.
struct TokenAnswer: Encodable {
    let accessToken: String
    let tokenType = "Bearer"
    let expiresIn = Int(AppleConstants.accessTokenLife)
    var refreshToken: String?
    var idToken: String?

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case expiresIn = "expires_in"
        case refreshToken = "refresh_token"
        case idToken = "id_token"
    }
}

extension AppleState {
    /// `POST /auth/token`.
    mutating func token(_ form: FormBody, now: Date) throws -> TokenAnswer {
        let caller = try authenticate(form, now: now)
        switch form["grant_type"] {
        case nil: throw AppleError.request("grant_type is missing")
        case "authorization_code": return try exchangeCode(form, caller: caller, now: now)
        case "refresh_token": return try refresh(form, caller: caller, now: now)
        case "client_credentials": return try migrationToken(form, caller: caller, now: now)
        default: throw AppleError(code: .unsupportedGrantType, reason: "an unknown grant_type")
        }
    }

    private mutating func exchangeCode(_ form: FormBody, caller: AuthenticatedClient, now: Date) throws -> TokenAnswer {
        guard let text = form["code"] else { throw AppleError.request("code is missing") }
        let dead = "The code has expired or has been revoked."
        guard let code = codes[text] else { throw AppleError.grant("an unknown code", text: dead) }
        guard code.clientID == caller.client.id, code.teamID == caller.teamID else {
            throw AppleError.grant("a code of another client")
        }
        guard !code.isUsed else {
            throw AppleError.grant("a code used before", text: "The code has already been used.")
        }
        guard
            now.timeIntervalSince(code.issuedAt) <= AppleConstants.codeLife,
            authorizations[code.authorization].endedAt == nil
        else { throw AppleError.grant("a code that expired or was revoked", text: dead) }
        guard form["redirect_uri"] == code.redirectURI else {
            throw AppleError.grant("redirect_uri is not the one of the authorize request")
        }
        codes[text]?.isUsed = true

        let refreshToken = addRefreshToken(
            person: code.person,
            clientID: code.clientID,
            teamID: code.teamID,
            authorization: code.authorization,
            now: now
        )
        let access = addAccessToken(
            person: code.person,
            clientID: code.clientID,
            teamID: code.teamID,
            authorization: code.authorization,
            now: now
        )
        let identity = try identityToken(
            person: code.person,
            client: caller.client,
            teamID: code.teamID,
            now: now,
            nonce: code.nonce,
            accessToken: access,
            isFirst: code.isFirst
        )
        return TokenAnswer(accessToken: access, refreshToken: refreshToken, idToken: identity)
    }

    mutating func addRefreshToken(
        person: Int,
        clientID: String,
        teamID: String,
        authorization: Int,
        now: Date
    ) -> String {
        let text = "r" + RandomText.token(length: 60)
        refreshTokens[text] = RefreshToken(
            person: person,
            clientID: clientID,
            teamID: teamID,
            authorization: authorization,
            issuedAt: now
        )
        return text
    }

    /// Refresh tokens do not rotate, so the answer contains none.
    private mutating func refresh(_ form: FormBody, caller: AuthenticatedClient, now: Date) throws -> TokenAnswer {
        guard let text = form["refresh_token"] else { throw AppleError.request("refresh_token is missing") }
        guard let token = refreshTokens[text] else { throw AppleError.grant("an unknown refresh token") }
        guard token.clientID == caller.client.id, token.teamID == caller.teamID else {
            throw AppleError.grant("a refresh token of another client")
        }
        guard isLive(token) else { throw AppleError.grant("a refresh token that is dead") }
        let access = addAccessToken(
            person: token.person,
            clientID: token.clientID,
            teamID: token.teamID,
            authorization: token.authorization,
            now: now
        )
        let identity = try identityToken(
            person: token.person,
            client: caller.client,
            teamID: token.teamID,
            now: now,
            accessToken: access
        )
        return TokenAnswer(accessToken: access, idToken: identity)
    }

    private mutating func migrationToken(_ form: FormBody, caller: AuthenticatedClient, now: Date) throws -> TokenAnswer
    {
        guard form["scope"] == "user.migration" else {
            throw AppleError(code: .invalidScope, reason: "scope is not user.migration")
        }
        let access = addAccessToken(
            person: nil,
            clientID: caller.client.id,
            teamID: caller.teamID,
            authorization: nil,
            now: now
        )
        return TokenAnswer(accessToken: access)
    }

    private mutating func addAccessToken(
        person: Int?,
        clientID: String,
        teamID: String,
        authorization: Int?,
        now: Date
    ) -> String {
        let text = "a" + RandomText.token(length: 60)
        accessTokens[text] = AccessToken(
            person: person,
            clientID: clientID,
            teamID: teamID,
            authorization: authorization,
            issuedAt: now
        )
        return text
    }

    /// An identity token, as sent by the token endpoint and to the device.
    mutating func identityToken(
        person id: Int,
        client: AppleClient,
        teamID: String,
        now: Date,
        nonce: String? = nil,
        accessToken: String? = nil,
        code: String? = nil,
        isFirst: Bool = false
    ) throws -> String {
        let subject = subject(of: id, teamID: teamID)
        let person = people[id]
        let email = person?.visibleEmail(for: teamID)
        let issuedAt = Int(now.timeIntervalSince1970)
        let claims = IdentityTokenClaims(
            aud: client.id,
            exp: issuedAt + Int(AppleConstants.identityTokenLife),
            iat: issuedAt,
            sub: subject,
            nonce: nonce,
            cHash: code.map(Self.leftHalfOfHash),
            atHash: accessToken.map(Self.leftHalfOfHash),
            email: email,
            emailVerified: email.map { _ in truth(true) },
            isPrivateEmail: person?.hidesEmail == true ? truth(true) : nil,
            authTime: issuedAt - 2,
            realUserStatus: isFirst && client.kind == .bundle ? 2 : nil,
            transferSub: transferClaim(person: id, client: client, now: now)
        )
        let key = keyRing.identityKey
        return try CompactJWS.make(header: ["alg": "RS256", "kid": key.id], claims: claims, sign: key.sign)
    }

    func truth(_ value: Bool) -> TextOrBool {
        writesBooleansAsText ? .text(value) : .bool(value)
    }

    /// The hash that binds a token or a code to an identity token (OpenID Connect Core 3.1.3.6).
    private static func leftHalfOfHash(of text: String) -> String {
        Base64URL.encode(SHA256.hash(data: Data(text.utf8)).prefix(16))
    }
}
