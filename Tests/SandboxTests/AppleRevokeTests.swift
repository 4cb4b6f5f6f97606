import Foundation
import Sandbox
import Testing

/// What a revoke ends, and what a 200 does not prove.
@Suite struct AppleRevokeTests {
    @Test func aRevokeEndsTheWholeConsentOfTheGroup() async throws {
        try await Sandbox.with { sandbox async throws in
            let app = AppleCaller(sandbox: sandbox)
            let web = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            let signIn = try sandbox.apple.signIn(clientID: app.clientID)
            let first = try #require(try await app.exchange(signIn.authorizationCode)["refresh_token"])
            let second = try await app.refreshToken(sub: signIn.sub)
            let third = try await web.refreshToken(sub: signIn.sub)
            let pending = try sandbox.apple.issueCode(clientID: app.clientID, sub: signIn.sub)
            let bystander = try await app.refreshToken()

            let answer = try await app.revoke(first, ["token_type_hint": "refresh_token"])
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
            #expect(try await app.refresh(first)["error"] == "invalid_grant")
            #expect(try await app.refresh(second)["error"] == "invalid_grant")
            #expect(try await web.refresh(third)["error"] == "invalid_grant")
            #expect(try await app.exchange(pending)["error"] == "invalid_grant")
            #expect(try await app.refresh(bystander).status == 200)
            guard case .ended = sandbox.apple.consent(sub: signIn.sub, clientID: app.clientID) else {
                Issue.record("the consent should have ended")
                return
            }
            // The person may return, under the same sub, with a consent of its own.
            let again = try await app.refreshToken(sub: signIn.sub)
            #expect(try await app.revoke(first).status == 200)
            #expect(try await app.refresh(again).status == 200)
        }
    }

    @Test func anAccessTokenWillDo() async throws {
        try await AppleCaller.with { sandbox, caller in
            let tokens = try await caller.exchange(sandbox.apple.issueCode(clientID: caller.clientID))
            let access = try #require(tokens["access_token"])
            #expect(try await caller.revoke(access, ["token_type_hint": "access_token"]).status == 200)
            #expect(try await caller.refresh(try #require(tokens["refresh_token"]))["error"] == "invalid_grant")
        }
    }

    @Test func unknownAndDeadTokensAreAnsweredLikeLiveOnes() async throws {
        try await AppleCaller.with { _, caller in
            let token = try await caller.refreshToken()
            for token in [token, token, "placeholder"] {
                let answer = try await caller.revoke(token)
                #expect(answer.status == 200)
                #expect(answer.body.isEmpty)
            }
        }
    }

    @Test func refusals() async throws {
        try await AppleCaller.with { sandbox, caller in
            let empty = try await Answer.to(.post, sandbox.baseURL + "/auth/revoke")
            #expect(empty.status == 400)
            #expect(empty["error"] == "invalid_client")
            #expect(try await caller.post("/auth/revoke", [:])["error"] == "invalid_request")
            let token = try await caller.refreshToken()
            #expect(try await caller.revoke(token, ["token_type_hint": "id_token"])["error"] == "invalid_request")
            #expect(try await caller.revoke(token, ["token_type_hint": "access_token"])["error"] == "invalid_request")
            let identity = try sandbox.apple.signIn(clientID: caller.clientID).identityToken
            #expect(try await caller.revoke(identity)["error"] == "invalid_request")
            let web = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            #expect(try await web.revoke(token)["error"] == "invalid_grant")
            #expect(try await caller.revoke(token, ["client_secret": "x"])["error"] == "invalid_client")
            #expect(try await caller.refresh(token).status == 200)
        }
    }
}
