import Foundation
import Sandbox
import Testing

/// Every way in which a client secret can be wrong is `invalid_client`, judged before the code.
@Suite struct ClientSecretTests {
    @Test func aBogusCodeWithAGoodSecretIsInvalidGrant() async throws {
        try await Sandbox.with { sandbox async throws in
            let answer = try await AppleCaller(sandbox: sandbox).exchange("bogus")
            #expect(answer.status == 400)
            #expect(answer["error"] == "invalid_grant")
        }
    }

    @Test func everyFaultOfASecretIsInvalidClientAndBurnsNoCode() async throws {
        try await AppleCaller.with { sandbox, caller in
            let now = Date().timeIntervalSince1970.rounded(.down)
            let foreign = sandbox.apple.makeKey(teamID: "OTHERTEAM1")
            let secrets: [String: String] = [
                "the signature has": try caller.secret(der: true),
                "signed with RS256": try caller.secret(header: ["alg": "RS256"]),
                "names no key": try caller.secret(without: ["kid"]),
                "unknown key": try caller.secret(header: ["kid": "AAAAAAAAAA"]),
                "iss is not": try caller.secret(claims: ["iss": "AAAAAAAAAA"]),
                "sub is not": try caller.secret(claims: ["sub": "com.example.web"]),
                "aud is not": try caller.secret(claims: ["aud": "https://appleid.apple.com/"]),
                "iat lies": try caller.secret(claims: ["iat": now + 60]),
                "has expired": try caller.secret(claims: ["exp": now - 1]),
                "15777000": try caller.secret(claims: ["exp": now + 15_777_100]),
                "missing or of the wrong type": try caller.secret(without: ["iat"]),
                "does not belong": try caller.secret(key: foreign),
                "signature is wrong": String(try caller.secret().dropLast(4)) + "AAAA",
                "not a signed token": "secret",
            ]
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            for (reason, secret) in secrets {
                let answer = try await caller.exchange(code, ["client_secret": secret])
                #expect(answer.status == 400, "\(reason)")
                #expect(answer["error"] == "invalid_client", "\(reason)")
                let noted = sandbox.journal.entries.last?.reason ?? ""
                #expect(noted.contains(reason), "\(noted) should say: \(reason)")
            }
            #expect(try await caller.exchange(code).status == 200)
        }
    }

    @Test func aSecretMayLiveTheFullTime() async throws {
        try await AppleCaller.with { _, caller in
            let secret = try caller.secret(claims: ["exp": Date().timeIntervalSince1970 + 15_776_990])
            #expect(try await caller.exchange("bogus", ["client_secret": secret])["error"] == "invalid_grant")
        }
    }

    @Test func aKeyOfAnotherPrimaryAppIDIsRefused() async throws {
        try await Sandbox.with { sandbox async throws in
            sandbox.apple.register(client: "com.example.other")
            let key = sandbox.apple.makeKey(groups: ["com.example.other"])
            let caller = AppleCaller(sandbox: sandbox)
            let answer = try await caller.exchange("bogus", ["client_secret": caller.secret(key: key)])
            #expect(answer["error"] == "invalid_client")
        }
    }

    @Test func aKeyServesTheClientsGroupedWithItsAppID() async throws {
        try await Sandbox.with { sandbox async throws in
            let caller = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
            #expect(try await caller.exchange("bogus")["error"] == "invalid_grant")
        }
    }

    @Test func aRevokedKeyIsRefused() async throws {
        try await Sandbox.with { sandbox async throws in
            sandbox.apple.revokeKey(sandbox.apple.developerKey.keyID)
            #expect(try await AppleCaller(sandbox: sandbox).exchange("bogus")["error"] == "invalid_client")
        }
    }

    @Test func aClockBehindTheClientRefusesAFreshIssueTime() async throws {
        try await Sandbox.with { sandbox async throws in
            sandbox.clock.advance(by: .seconds(-10))
            let caller = AppleCaller(sandbox: sandbox)
            let fresh = try caller.secret(claims: ["iat": Date().timeIntervalSince1970.rounded(.down)])
            #expect(try await caller.exchange("bogus", ["client_secret": fresh])["error"] == "invalid_client")
            // Backdated by thirty seconds it passes.
            #expect(try await caller.exchange("bogus")["error"] == "invalid_grant")
        }
    }

    @Test func onlyFormsAreTaken() async throws {
        try await AppleCaller.with { sandbox, caller in
            let code = try sandbox.apple.issueCode(clientID: caller.clientID)
            let body = """
                {"grant_type":"authorization_code","code":"\(code)","client_id":"com.example.app",\
                "client_secret":"\(try caller.secret())"}
                """
            let answer = try await Answer.json(.post, sandbox.baseURL + "/auth/token", body)
            #expect(answer.status == 400)
            #expect(answer["error"] == "invalid_request")
            let twice = try await Answer.to(
                .post,
                sandbox.baseURL + "/auth/token",
                headers: ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"],
                body: Array("client_id=a&client_id=b".utf8)
            )
            #expect(twice["error"] == "invalid_request")
        }
    }
}
