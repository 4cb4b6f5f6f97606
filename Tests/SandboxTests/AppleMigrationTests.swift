import Foundation
import Sandbox
import Testing

/// The transfer of a client to another team.
@Suite struct AppleMigrationTests {
    private static let otherTeam = "NEWTEAM123"

    private func token(_ caller: AppleCaller, key: DeveloperKey? = nil, ahead: Double = 0) async throws -> String? {
        let claims: [String: any Sendable] = ["exp": Date().timeIntervalSince1970 + ahead + 300]
        return try await caller.post(
            "/auth/token",
            [
                "grant_type": "client_credentials", "scope": "user.migration",
                "client_secret": try caller.secret(key: key, claims: claims),
            ]
        )["access_token"]
    }

    @Test func bothSides() async throws {
        try await AppleCaller.with { sandbox, caller in
            let path = "/auth/usermigrationinfo"
            let signIn = try sandbox.apple.signIn(clientID: caller.clientID, hidesEmail: true)
            let bearer = try #require(try await token(caller))
            let asked = ["sub": signIn.sub, "target": Self.otherTeam]
            #expect(try await caller.post(path, asked, bearer: bearer)["error"] == "invalid_request")

            sandbox.apple.startTransfer(of: caller.clientID, to: Self.otherTeam)
            let key = sandbox.apple.makeKey(teamID: Self.otherTeam)
            #expect(try await caller.post(path, asked)["error"] == "invalid_request")
            #expect(
                try await caller.post(path, ["sub": signIn.sub, "target": sandbox.apple.teamID], bearer: bearer)[
                    "error"
                ] == "invalid_request"
            )
            let transfer = try #require(try await caller.post(path, asked, bearer: bearer)["transfer_sub"])
            #expect(try await caller.post(path, asked, bearer: bearer)["transfer_sub"] == transfer)

            sandbox.apple.acceptTransfer(of: caller.clientID)
            let theirs = try #require(try await token(caller, key: key))
            let answer = try await caller.post(
                path,
                ["transfer_sub": transfer, "client_secret": try caller.secret(key: key)],
                bearer: theirs
            )
            let subject = try #require(answer["sub"])
            #expect(subject != signIn.sub)
            #expect(answer["email"] != signIn.email)
            #expect(answer.object["is_private_email"] as? Bool == true)

            // In the window the new team's tokens name the transfer identifier.
            let returned = try sandbox.apple.signIn(clientID: caller.clientID, sub: subject)
            #expect(returned.sub == subject)
            #expect(AppleCaller.claims(returned.identityToken)["transfer_sub"] as? String == transfer)

            // After sixty days it is over for the sending team.
            let ahead = 61.0 * 86_400
            sandbox.clock.advance(by: .seconds(ahead))
            #expect(try await token(caller, ahead: ahead) == nil)
        }
    }

    @Test func aPersonWhoRevokedCannotBeMoved() async throws {
        try await AppleCaller.with { sandbox, caller in
            let signIn = try sandbox.apple.signIn(clientID: caller.clientID)
            sandbox.apple.stopUsing(sub: signIn.sub, clientID: caller.clientID)
            sandbox.apple.startTransfer(of: caller.clientID, to: Self.otherTeam)
            let bearer = try await token(caller)
            let answer = try await caller.post(
                "/auth/usermigrationinfo",
                ["sub": signIn.sub, "target": Self.otherTeam],
                bearer: bearer
            )
            #expect(answer["error"] == "invalid_request")
        }
    }
}
