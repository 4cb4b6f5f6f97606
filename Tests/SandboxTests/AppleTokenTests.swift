import Crypto
import CryptoExtras
import Foundation
import Sandbox
import Testing

/// Codes, refresh tokens and identity tokens.
@Suite struct AppleTokenTests {
    @Test func aCodeGivesTokensOnce() async throws {
        try await AppleCaller.with { sandbox, caller in
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            let first = try await caller.exchange(code)
            #expect(first.status == 200)
            #expect(first.header("Cache-Control") == "no-store")
            #expect(first["token_type"] == "Bearer")
            #expect(first.object["expires_in"] as? Int == 3600)
            #expect(first["refresh_token"] != nil && first["access_token"] != nil && first["id_token"] != nil)
            let second = try await caller.exchange(code)
            #expect(second["error"] == "invalid_grant")
            #expect(second["error_description"] == "The code has already been used.")
        }
    }

    @Test func aCodeLivesFiveMinutes() async throws {
        try await AppleCaller.with { sandbox, caller in
            let inTime = try sandbox.apple.issueCode(clientID: caller.clientID)
            let late = try sandbox.apple.issueCode(clientID: caller.clientID)
            sandbox.clock.advance(by: .seconds(290))
            #expect(try await caller.exchange(inTime, ["client_secret": secret(caller, 290)]).status == 200)
            sandbox.clock.advance(by: .seconds(20))
            let answer = try await caller.exchange(late, ["client_secret": secret(caller, 310)])
            #expect(answer["error"] == "invalid_grant")
        }
    }

    /// A client secret for a clock that is ahead.
    private func secret(_ caller: AppleCaller, _ ahead: Double) throws -> String {
        try caller.secret(claims: ["exp": Date().timeIntervalSince1970 + ahead + 300])
    }

    @Test func aCodeOfAnotherClientIsInvalidGrant() async throws {
        try await Sandbox.with { sandbox async throws in
            let code = try sandbox.apple.issueCode(clientID: "com.example.app")
            let answer = try await AppleCaller(sandbox: sandbox, clientID: "com.example.web").exchange(code)
            #expect(answer["error"] == "invalid_grant")
            #expect(try await AppleCaller(sandbox: sandbox).exchange(code).status == 200)
        }
    }

    @Test func theRedirectURIMustBeTheOneOfTheAuthorizeRequest() async throws {
        try await Sandbox.with { sandbox async throws in
            let web = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            let uri = "https://example.com/callback"
            let code = try sandbox.apple.issueCode(clientID: web.clientID, redirectURI: uri)
            #expect(try await web.exchange(code)["error"] == "invalid_grant")
            #expect(try await web.exchange(code, ["redirect_uri": uri + "/"])["error"] == "invalid_grant")
            #expect(try await web.exchange(code, ["redirect_uri": uri]).status == 200)
            let native = try sandbox.apple.issueCode(clientID: "com.example.app")
            let answer = try await AppleCaller(sandbox: sandbox).exchange(native, ["redirect_uri": uri])
            #expect(answer["error"] == "invalid_grant")
        }
    }

    @Test func refreshTokensDoNotRotate() async throws {
        try await AppleCaller.with { sandbox, caller in
            let token = try await caller.refreshToken()
            for _ in 0..<2 {
                let answer = try await caller.refresh(token)
                #expect(answer.status == 200)
                #expect(answer["refresh_token"] == nil)
                #expect(answer["access_token"] != nil)
            }
            let foreign = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            #expect(try await foreign.refresh(token)["error"] == "invalid_grant")
        }
    }

    @Test func aChangedPasswordKillsRefreshTokensButNotTheConsent() async throws {
        try await AppleCaller.with { sandbox, caller in
            let signIn = try sandbox.apple.signIn(clientID: caller.clientID)
            let token = try #require(try await caller.exchange(signIn.authorizationCode)["refresh_token"])
            sandbox.apple.changePassword(sub: signIn.sub, clientID: caller.clientID)
            #expect(try await caller.refresh(token)["error"] == "invalid_grant")
            guard case .given = sandbox.apple.consent(sub: signIn.sub, clientID: caller.clientID) else {
                Issue.record("the consent should stand")
                return
            }
        }
    }

    @Test func grantTypesAndScopesAreChecked() async throws {
        try await AppleCaller.with { _, caller in
            let refusals: [(fields: [String: String], error: String)] = [
                ([:], "invalid_request"),
                (["grant_type": "password"], "unsupported_grant_type"),
                (["grant_type": "authorization_code"], "invalid_request"),
                (["grant_type": "client_credentials"], "invalid_scope"),
            ]
            for (fields, error) in refusals {
                let answer = try await caller.post("/auth/token", fields)
                #expect(answer["error"] == error)
            }
        }
    }

    @Test func identityTokensAreSignedByAPublishedKeyAndCarryTheClaimsOfTheField() async throws {
        try await AppleCaller.with { sandbox, caller in
            let signIn = try sandbox.apple.signIn(clientID: caller.clientID, hidesEmail: true, nonce: "abc")
            let answer = try await caller.exchange(signIn.authorizationCode)
            let token = try #require(answer["id_token"])
            #expect(try await isSigned(token, sandbox))
            #expect(try await isSigned(signIn.identityToken, sandbox))
            let claims = AppleCaller.claims(token)
            #expect(claims["iss"] as? String == "https://appleid.apple.com")
            #expect(claims["aud"] as? String == caller.clientID)
            #expect(claims["sub"] as? String == signIn.sub)
            #expect(claims["nonce"] as? String == "abc")
            #expect((claims["exp"] as? Int ?? 0) - (claims["iat"] as? Int ?? 0) == 86_400)
            #expect(claims["email_verified"] as? String == "true")
            #expect(claims["is_private_email"] as? String == "true")
            #expect((claims["email"] as? String)?.hasSuffix("@privaterelay.appleid.com") == true)
            #expect(claims["at_hash"] != nil && claims["c_hash"] == nil)
            #expect(AppleCaller.claims(signIn.identityToken)["c_hash"] != nil)
            sandbox.apple.writeBooleansAsText(false)
            let later = try await caller.refresh(try #require(answer["refresh_token"]))
            #expect(AppleCaller.claims(later["id_token"])["email_verified"] as? Bool == true)
        }
    }

    @Test func theSubIsOnePerTeamAndStaysWhenAPersonReturns() async throws {
        try await Sandbox.with { sandbox async throws in
            let first = try sandbox.apple.signIn(clientID: "com.example.app")
            #expect(first.isFirst)
            let web = try sandbox.apple.signIn(clientID: "com.example.web", sub: first.sub)
            #expect(web.sub == first.sub)
            #expect(!web.isFirst)
            sandbox.apple.stopUsing(sub: first.sub, clientID: "com.example.app")
            let returned = try sandbox.apple.signIn(clientID: "com.example.app", sub: first.sub)
            #expect(returned.sub == first.sub)
            #expect(returned.isFirst)
        }
    }

    @Test func rotatedKeysSignAndTheOldestGoes() async throws {
        try await Sandbox.with { sandbox async throws in
            let before = sandbox.apple.publishedKeyIDs
            try sandbox.apple.rotateKeys()
            let after = sandbox.apple.publishedKeyIDs
            #expect(after.count == before.count)
            #expect(Set(after).subtracting(before).count == 1)
            #expect(!after.contains(before[0]))
            let token = try sandbox.apple.signIn(clientID: "com.example.app").identityToken
            #expect(try await isSigned(token, sandbox))
            try sandbox.apple.rotateKeys(all: true)
            #expect(Set(sandbox.apple.publishedKeyIDs).isDisjoint(with: after))
            #expect(try await !isSigned(token, sandbox))
        }
    }

    /// Checks a token against the published keys, by the reference's own words and none of the sandbox's code.
    private func isSigned(_ token: String, _ sandbox: Sandbox) async throws -> Bool {
        let keys = try await Answer.to(.get, sandbox.baseURL + "/auth/keys").object["keys"] as? [[String: String]] ?? []
        let parts = token.split(separator: ".")
        let header = try #require(AppleCaller.data(base64: parts[0]))
        let fields = try #require(try JSONSerialization.jsonObject(with: header) as? [String: String])
        guard
            fields["alg"] == "RS256", let key = keys.first(where: { $0["kid"] == fields["kid"] }),
            let n = key["n"].flatMap({ AppleCaller.data(base64: $0[...]) }),
            let e = key["e"].flatMap({ AppleCaller.data(base64: $0[...]) }),
            let signature = AppleCaller.data(base64: parts[2])
        else { return false }
        return try _RSA.Signing.PublicKey(n: n, e: e).isValidSignature(
            _RSA.Signing.RSASignature(rawRepresentation: signature),
            for: SHA256.hash(data: Data("\(parts[0]).\(parts[1])".utf8)),
            padding: .insecurePKCS1v1_5
        )
    }
}
