import HTTPCalls
import Logging
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import SignInWithApple

/// A client that Apple rejects rests, and tests itself.
@Suite(.timeLimit(.minutes(5))) struct AppleBreakerTests {
    @Test func aRejectedClientRestsAndTestsItselfAgain() async throws {
        let isMended = Mutex(false)
        try await LyingApple.withClients({ _, request in
            let fields = request.body
            if fields.contains("com.example.app"), !isMended.withLock({ $0 }) {
                return LyingApple.refusal("invalid_client")
            }
            if fields.contains("self-test") { return LyingApple.refusal("invalid_grant") }
            return LyingServer.reply("200 OK")
        }) { clients, server, clock in
            let client = try #require(clients["com.example.app"])
            guard case .misconfigured(let fault) = try await client.revoke(Secret("r")) else {
                Issue.record("not misconfigured")
                return
            }
            #expect(fault.description.contains("KEY1234567"))
            #expect(clients.isPaused("com.example.app"))
            #expect(clients.breakers.health(of: "com.example.app").refusal?.code == .invalidClient)

            // While it rests nothing is sent, and other clients go on.
            guard case .later(let delay) = try await client.revoke(Secret("r")) else {
                Issue.record("not paused")
                return
            }
            #expect(delay == AppleDelay(.breakerOpen, retryAfter: .seconds(30)))
            #expect(server.received.count == 1)
            guard case .revoked? = try await clients["com.example.web"]?.revoke(Secret("r")) else {
                Issue.record("another client was stopped")
                return
            }

            // After the pause the self-test goes first, and no user's token is sent while it fails.
            clock.advance(30)
            #expect(!clients.isPaused("com.example.app"))
            _ = try await client.revoke(Secret("r"))
            #expect(server.received.count == 3)
            #expect(server.received[2].body.contains("self-test"))
            #expect(clients.isPaused("com.example.app"))

            isMended.withLock { $0 = true }
            clock.advance(60)
            guard case .revoked = try await client.revoke(Secret("r")) else {
                Issue.record("not mended")
                return
            }
            #expect(server.received.count == 5)
            #expect(clients.breakers.health(of: "com.example.app").refusal == nil)
        }
    }

    /// Apple says the same of a code of another client or redirect URI, or of whoever has revoked: people send what they
    /// like, and nobody else's calls are paused for it.
    @Test(arguments: ["invalid_client", "invalid_request"])
    func aCodeAtFaultPausesNobody(_ code: String) async throws {
        try await LyingApple.withClients({ _, _ in LyingApple.refusal(code) }) { clients, _, _ in
            let client = try #require(clients["com.example.app"])
            let outcome = try await client.exchange(code: Secret("c"), redirectURI: "https://example.com/x")
            guard case .refused(let refusal) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(refusal.code.text == code)
            #expect(!clients.isPaused("com.example.app"))
        }
    }

    /// The test with which a pause ends was good, so that no second one is wanted.
    @Test func aCodeAtFaultBehindATestOfTheClientIsRefused() async throws {
        try await LyingApple.withClients({ number, request in
            LyingApple.refusal(number > 1 && request.body.contains("self-test") ? "invalid_grant" : "invalid_client")
        }) { clients, server, clock in
            let client = try #require(clients["com.example.app"])
            _ = try await client.revoke(Secret("r"))
            clock.advance(30)
            let outcome = try await client.exchange(code: Secret("c"), redirectURI: "https://example.com/x")
            guard case .codeRefused(let refusal) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(refusal.code == .invalidClient)
            #expect(!clients.isPaused("com.example.app"))
            #expect(server.received.count == 3)
        }
    }

    /// The page of an edge says nothing about the client: neither its probe nor a call closes the breaker.
    @Test func aPageOfTheEdgeDoesNotCloseTheBreaker() async throws {
        try await LyingApple.withClients({ number, _ in
            number == 1 ? LyingApple.refusal("invalid_client") : LyingApple.html
        }) {
            clients,
            server,
            clock in
            let client = try #require(clients["com.example.app"])
            _ = try await client.revoke(Secret("r"))
            clock.advance(30)
            _ = try await client.revoke(Secret("r"))
            #expect(server.received.count == 2)
            #expect(clients.isPaused("com.example.app"))
            #expect(clients.breakers.health(of: "com.example.app").refusal?.code == .invalidClient)
            guard case .later = try await client.selfTest() else {
                Issue.record("a page passed for Apple's answer")
                return
            }
            #expect(clients.isPaused("com.example.app"))
        }
    }

    /// What was sent before the breaker opened or closed says nothing about the time after.
    @Test func aStragglerLeavesBreakerAndReasonAlone() throws {
        let (key, now) = ("com.example.app", Claims.now)
        let breakers = AppleBreakers(identities: [])
        guard case .proceed(let early) = breakers.admit(key, at: now),
            case .proceed(let straggler) = breakers.admit(key, at: now)
        else { throw CancellationError() }
        let rejection = AppleAnswer.refused(AppleRefusal(code: .invalidClient, detail: "x"), status: 400)
        breakers.settle(key, early, by: rejection, at: now, logger: .silent)
        breakers.settle(key, straggler, by: .success([]), at: now, logger: .silent)
        #expect(breakers.health(of: key).refusal?.detail == "x")
        breakers.reset(key)
        breakers.settle(key, straggler, by: rejection, at: now, logger: .silent)
        #expect(breakers.health(of: key).refusal == nil)
        #expect(breakers.health(of: key).state == .closed)
    }

    @Test func anAskedSelfTestClosesTheBreaker() async throws {
        try await LyingApple.withClients({ number, _ in
            LyingApple.refusal(number == 1 ? "invalid_client" : "invalid_grant")
        }) {
            clients,
            server,
            _ in
            let client = try #require(clients["com.example.app"])
            guard case .misconfigured = try await client.selfTest() else {
                Issue.record("not misconfigured")
                return
            }
            #expect(clients.isPaused("com.example.app"))
            guard case .good = try await client.selfTest() else {
                Issue.record("not good")
                return
            }
            #expect(!clients.isPaused("com.example.app"))
            #expect(server.received.count == 2)
        }
    }

    /// Whether a call or a self-test finds out, the operator is told, once for each change.
    @Test func aSelfTestTellsWhatItOpensAndCloses() async throws {
        let lines = LogLines()
        try await LyingApple.withClients(
            { number, _ in LyingApple.refusal(number <= 2 ? "invalid_client" : "invalid_grant") },
            logger: lines.logger
        ) { clients, _, _ in
            let client = try #require(clients["com.example.app"])
            for _ in 0..<4 { _ = try await client.selfTest() }
            #expect(!clients.isPaused("com.example.app"))
            let told = lines.all.filter { $0.contains("this client id") }
            let levels = told.map { $0.split(separator: " ").first }
            #expect(levels == ["error", "notice"])
            let identity = client.identity
            for fact in ["team_id=\(identity.teamID)", "key_id=\(identity.keyID)", "reason=invalid_client"] {
                #expect(told.first?.contains(fact) == true, "\(told)")
            }
        }
    }
}
