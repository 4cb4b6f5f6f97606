import Foundation
import HTTPCalls
import Logging
import Sandbox
import SandboxClients
import Sealing
import SignInWithApple
import TestSupport
import Testing

/// The client and the stand-in for Apple were written from the same facts by different hands: here they meet.
@Suite(.timeLimit(.minutes(5))) struct SandboxAgreementTests {
    private static let app = "com.example.app"
    private static let web = "com.example.web"
    private static let ids = [app, web]

    private func with<Result: Sendable>(
        _ body: @Sendable (Sandbox, AppleClients) async throws -> Result
    ) async throws -> Result {
        let logger = Logger.silent
        return try await Sandbox.with(logger: logger) { sandbox in
            try await HTTPCaller.withCaller(logger: logger) { caller in
                try await body(sandbox, AppleClients(of: sandbox, Self.ids, caller: caller))
            }
        }
    }

    private func grant(_ client: SignInWithApple.AppleClient, _ code: String) async throws -> AppleGrant {
        guard case .granted(let grant) = try await client.exchange(code: Secret(code), redirectURI: nil) else {
            Issue.record("the code was not exchanged")
            throw CancellationError()
        }
        return grant
    }

    @Test func aCredentialsWholeLife() async throws {
        try await with { sandbox, clients in
            let client = try #require(clients[Self.app])
            let signIn = try sandbox.apple.signIn(clientID: Self.app, hidesEmail: true)
            let grant = try await grant(client, signIn.authorizationCode)
            let token = try #require(grant.identityToken)
            guard case .success(let identity) = try await clients.verify(identityToken: token.reveal(), for: Self.app)
            else {
                Issue.record("the identity token was refused")
                return
            }
            #expect(identity.sub == signIn.sub)

            guard
                case .codeRefused = try await client.exchange(code: Secret(signIn.authorizationCode), redirectURI: nil)
            else {
                Issue.record("a code worked twice")
                return
            }
            guard case .live = try await client.check(refreshToken: grant.refreshToken) else {
                Issue.record("the grant does not live")
                return
            }
            guard case .revoked = try await client.revoke(grant.refreshToken),
                case .grantGone = try await client.check(refreshToken: grant.refreshToken),
                case .revoked = try await client.revoke(Secret("a token that never was"))
            else {
                Issue.record("revoking went wrong")
                return
            }
            #expect(sandbox.apple.liveConsents == 0)
        }
    }

    /// Both are ours: all the same a token speaks for the client alone whose code brought it.
    @Test func anIdentityTokenOfTheOtherClientIsRefused() async throws {
        try await with { sandbox, clients in
            let signIn = try sandbox.apple.signIn(clientID: Self.app, hidesEmail: true)
            let grant = try await grant(try #require(clients[Self.app]), signIn.authorizationCode)
            let token = try #require(grant.identityToken).reveal()
            #expect(try await clients.verify(identityToken: token, for: Self.web) == .failure(.audience))
            guard case .success = try await clients.verify(identityToken: token, for: Self.app) else {
                Issue.record("refused for its own client")
                return
            }
        }
    }

    @Test func aCodeOfTheOtherClientIsRefused() async throws {
        try await with { sandbox, clients in
            let code = try sandbox.apple.issueCode(clientID: Self.app)
            guard case .codeRefused? = try await clients[Self.web]?.exchange(code: Secret(code), redirectURI: nil)
            else {
                Issue.record("not refused")
                return
            }
            #expect(!clients.isPaused(Self.web))
        }
    }

    @Test func theWebFlowNeedsItsRedirectURI() async throws {
        try await with { sandbox, clients in
            let uri = "https://example.com/auth/callback?x=1&y=2"
            let client = try #require(clients[Self.web])
            let code = try sandbox.apple.issueCode(clientID: Self.web, redirectURI: uri)
            guard case .granted = try await client.exchange(code: Secret(code), redirectURI: uri) else {
                Issue.record("not granted")
                return
            }
            let other = try sandbox.apple.issueCode(clientID: Self.web, redirectURI: uri)
            if case .granted = try await client.exchange(code: Secret(other), redirectURI: nil) {
                Issue.record("granted without the redirect URI")
            }
        }
    }

    @Test func theSelfTestTellsGoodFromBadAndUsesNothingUp() async throws {
        try await with { sandbox, clients in
            let client = try #require(clients[Self.app])
            guard case .good = try await client.selfTest() else {
                Issue.record("not good")
                return
            }
            sandbox.apple.revokeKey(client.identity.keyID)
            guard case .misconfigured(let reason) = try await client.selfTest() else {
                Issue.record("a revoked key is good")
                return
            }
            #expect(reason.refusal.code == .invalidClient)
            #expect(clients.isPaused(Self.app))
        }
    }

    @Test func keysAreFollowedWhenAppleChangesThem() async throws {
        try await with { sandbox, clients in
            try sandbox.apple.rotateKeys(all: true)
            let signIn = try sandbox.apple.signIn(clientID: Self.app, hidesEmail: true)
            let identity = try await clients.verify(identityToken: signIn.identityToken, for: Self.app)
            #expect(try identity.get().sub == signIn.sub)
        }
    }

    @Test func everyForgeryIsRefused() async throws {
        try await with { sandbox, clients in
            for forgery in Forgery.allCases {
                let token = try sandbox.apple.sign(
                    .init(.consentRevoked, sub: "s", audience: Self.app, eventTime: Date(), issuedAt: Date()),
                    forgery: forgery
                )
                let result = try await clients.verify(notification: Array(#"{"payload":"\#(token)"}"#.utf8))
                if case .success = result { Issue.record("\(forgery) was believed") }
            }
        }
    }

    @Test func usersMoveToAnotherTeam() async throws {
        let logger = Logger.silent
        try await with { sandbox, clients in
            let signIn = try sandbox.apple.signIn(clientID: Self.app, hidesEmail: true)
            let recipient = "RECIPIENT1"
            sandbox.apple.startTransfer(of: Self.app, to: recipient)
            let sender = try #require(clients[Self.app])
            guard case .granted(let token, _) = try await sender.migrationToken(),
                case .done(let identifier) = try await sender.transferIdentifier(
                    ofSub: signIn.sub,
                    targetTeam: recipient,
                    token: token
                )
            else {
                Issue.record("no transfer identifier")
                return
            }
            sandbox.apple.acceptTransfer(of: Self.app)
            let key = sandbox.apple.makeKey(teamID: recipient)
            try await HTTPCaller.withCaller(logger: logger) { caller in
                let new = try #require(try AppleClients(of: sandbox, Self.ids, key: key, caller: caller)[Self.app])
                guard case .granted(let token, _) = try await new.migrationToken(),
                    case .done(let user) = try await new.exchange(transferIdentifier: identifier, token: token),
                    case .userRefused = try await new.exchange(transferIdentifier: "unknown", token: token)
                else {
                    Issue.record("the user did not arrive")
                    return
                }
                #expect(user.sub != signIn.sub)
                #expect(user.isPrivateEmail == true)
                #expect(user.email != signIn.email)
            }
        }
    }
}
