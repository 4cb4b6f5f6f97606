import Foundation
import HTTPCalls
import Logging
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import SignInWithApple

/// The client against a server that says what Apple says, and what it should never say.
@Suite(.timeLimit(.minutes(5))) struct AppleClientTests {
    /// A clock that tests move.
    final class Clock: Sendable {
        private let time = Mutex(Claims.now)
        func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
        var now: Date { time.withLock { $0 } }
    }

    private func withClients<Result: Sendable>(
        _ script: @escaping @Sendable (Int, LyingServer.Request) -> LyingServer.Act,
        deadline: Duration = .seconds(20),
        logger: Logger = .silent,
        _ body: (AppleClients, LyingServer, Clock) async throws -> Result
    ) async throws -> Result {
        let clock = Clock()
        return try await LyingServer.with(script) { server in
            try await HTTPCaller.withCaller(
                configuration: .init(retries: .init(attempts: 3, firstPause: .milliseconds(1))),
                logger: logger
            ) { caller in
                let identities = try ["com.example.app", "com.example.web"].map { clientID in
                    try AppleClientIdentity(
                        clientID: clientID,
                        teamID: "TEAM123456",
                        keyID: "KEY1234567",
                        key: .random()
                    )
                }
                let clients = try AppleClients(
                    identities,
                    address: ServiceAddress("http://127.0.0.1:\(server.port)"),
                    caller: caller,
                    deadline: deadline,
                    logger: logger,
                    now: { clock.now }
                )
                return try await body(clients, server, clock)
            }
        }
    }

    private static func refusal(_ code: String, status: String = "400 Bad Request") -> LyingServer.Act {
        LyingServer.reply(status, #"{"error":"\#(code)","error_description":"The code has already been used."}"#)
    }

    private static let grant =
        #"{"access_token":"access","token_type":"bearer","expires_in":3600,"refresh_token":"refresh","id_token":"id"}"#

    private static let html = LyingServer.reply("200 OK", "<html>maintenance</html>")

    private func form(_ request: LyingServer.Request) -> [String: String] {
        Dictionary(
            request.body.split(separator: "&").map { field in
                let parts = field.split(separator: "=", maxSplits: 1).map { $0.removingPercentEncoding ?? "" }
                return (parts[0], parts.count > 1 ? parts[1] : "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    // MARK: - Exchange

    @Test func exchangeSendsWhatAppleWants() async throws {
        try await withClients({ _, _ in LyingServer.reply("200 OK", Self.grant) }) { clients, server, _ in
            let client = try #require(clients["com.example.app"])
            guard case .granted(let grant) = try await client.exchange(code: Secret("c.0&+="), redirectURI: nil) else {
                Issue.record("not granted")
                return
            }
            #expect(grant.refreshToken.reveal() == "refresh")
            #expect(grant.identityToken?.reveal() == "id")
            #expect(!"\(grant)".contains("refresh\""))

            let request = try #require(server.received.first)
            #expect(request.path == "/auth/token")
            #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
            let fields = form(request)
            #expect(fields["code"] == "c.0&+=")
            #expect(fields["grant_type"] == "authorization_code")
            #expect(fields["client_id"] == "com.example.app")
            #expect(fields["redirect_uri"] == nil)
            let secret = Secret(fields["client_secret"] ?? "")
            #expect(client.identity.key.hasSigned(secret))

            _ = try await client.exchange(code: Secret("c"), redirectURI: "https://example.com/cb")
            #expect(form(server.received[1])["redirect_uri"] == "https://example.com/cb")
        }
    }

    @Test func exchangeOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("codeRefused", Self.refusal("invalid_grant")),
            ("misconfigured", Self.refusal("invalid_request")),
            ("misconfigured", Self.refusal("unauthorized_client")),
            ("misconfigured", Self.refusal("invalid_client")),
            ("later", LyingServer.reply("429 Too Many Requests")),
            ("ambiguous", LyingServer.reply("503 Service Unavailable", "<html>")),
            ("ambiguous", LyingServer.reply("403 Forbidden", "<html>")),
            ("ambiguous", LyingServer.reply("302 Found", headers: "Location: /\r\n")),
            ("ambiguous", Self.html),
            ("ambiguous", LyingServer.reply("200 OK", "{}")),
            ("ambiguous", LyingServer.reply("200 OK", #"{"refresh_token":"r"}"#)),
            ("ambiguous", LyingServer.reply("200 OK", #"{"access_token":"a","refresh_token":""}"#)),
            ("ambiguous", LyingServer.reply("200 OK", String(repeating: " ", count: 1 << 17))),
            ("ambiguous", .sendAndClose("")),
            ("ambiguous", .sendAndClose("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")),
        ]
        for (expected, act) in cases {
            try await withClients({ _, _ in act }) { clients, server, _ in
                let outcome = try await clients["com.example.app"]?.exchange(code: Secret("c"), redirectURI: nil)
                #expect(Mirror(reflecting: try #require(outcome)).children.first?.label == expected, "\(act)")
                #expect(server.received.count == 1, "a code is sent once, whatever happens: \(act)")
            }
        }
    }

    @Test func anExchangeThatTimesOutIsAmbiguousAndNotRepeated() async throws {
        try await withClients({ _, _ in .silence }, deadline: .seconds(1)) { clients, server, _ in
            let outcome = try await clients["com.example.app"]?.exchange(code: Secret("c"), redirectURI: nil)
            guard case .ambiguous(let delay)? = outcome else {
                Issue.record("not ambiguous: \(String(describing: outcome))")
                return
            }
            #expect(delay.cause == .timedOut)
            #expect(server.received.count == 1)
        }
    }

    // MARK: - Check and revoke

    @Test func refreshCheckOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("live", LyingServer.reply("200 OK", #"{"access_token":"a","token_type":"Bearer"}"#)),
            ("live", LyingServer.reply("200 OK", Self.grant)),
            ("grantGone", Self.refusal("invalid_grant")),
            ("doubtful", Self.refusal("invalid_request")),
            ("misconfigured", Self.refusal("invalid_client")),
            ("misconfigured", Self.refusal("something_new")),
            ("later", Self.html),
            ("later", LyingServer.reply("500 Internal Server Error")),
        ]
        for (expected, act) in cases {
            try await withClients({ _, _ in act }) { clients, _, _ in
                let outcome = try #require(try await clients["com.example.app"]?.check(refreshToken: Secret("r")))
                #expect(Mirror(reflecting: outcome).children.first?.label ?? "\(outcome)" == expected, "\(act)")
            }
        }
    }

    @Test func revokeIsRepeatedAndTakesAnEmptyBody() async throws {
        try await withClients({ number, _ in
            number == 1 ? .sendAndClose("") : LyingServer.reply("200 OK")
        }) { clients, server, _ in
            let outcome = try await clients["com.example.app"]?.revoke(Secret("r"))
            guard case .revoked? = outcome else {
                Issue.record("not revoked: \(String(describing: outcome))")
                return
            }
            #expect(server.received.count == 2)
            #expect(server.received[1].path == "/auth/revoke")
            #expect(form(server.received[1])["token"] == "r")
            #expect(form(server.received[1])["token_type_hint"] == "refresh_token")
        }
    }

    @Test func revokeOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("grantUnknown", Self.refusal("invalid_grant")),
            ("misconfigured", Self.refusal("invalid_request")),
            ("misconfigured", Self.refusal("invalid_client")),
            ("later", LyingServer.reply("400 Bad Request", "<html>")),
            // Apple's success is empty. A page of the edge, under whatever status, ends no credential.
            ("later", Self.html),
            ("later", LyingServer.reply("200 OK", #"{"error":"invalid_grant"}"#)),
            ("later", LyingServer.reply("200 OK", "[]")),
            ("later", LyingServer.reply("200 OK", "ok")),
            ("revoked", LyingServer.reply("200 OK")),
            ("revoked", LyingServer.reply("200 OK", " \r\n")),
            ("revoked", LyingServer.reply("200 OK", "{}")),
            ("later", LyingServer.reply("429 Too Many Requests", headers: "Retry-After: 100\r\n")),
        ]
        for (expected, act) in cases {
            try await withClients({ _, _ in act }) { clients, _, _ in
                let outcome = try await clients["com.example.app"]?.revoke(Secret("r"))
                let value = try #require(outcome)
                #expect(Mirror(reflecting: value).children.first?.label ?? "\(value)" == expected, "\(act)")
                if case .later(let delay)? = outcome, delay.cause == .throttled {
                    #expect(delay.retryAfter == .seconds(100))
                }
            }
        }
    }

    // MARK: - Breaker

    @Test func aRejectedClientRestsAndTestsItselfAgain() async throws {
        let isMended = Mutex(false)
        try await withClients({ _, request in
            let fields = request.body
            if fields.contains("com.example.app"), !isMended.withLock({ $0 }) { return Self.refusal("invalid_client") }
            if fields.contains("self-test") { return Self.refusal("invalid_grant") }
            return LyingServer.reply("200 OK")
        }) { clients, server, clock in
            let client = try #require(clients["com.example.app"])
            guard case .misconfigured(let fault) = try await client.revoke(Secret("r")) else {
                Issue.record("not misconfigured")
                return
            }
            #expect(fault.description.contains("KEY1234567"))
            #expect(clients.isPaused("com.example.app"))
            #expect(clients.health(of: "com.example.app").refusal?.code == .invalidClient)

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
            #expect(clients.health(of: "com.example.app").refusal == nil)
        }
    }

    /// The page of an edge says nothing about the client: neither its probe nor a call closes the breaker.
    @Test func aPageOfTheEdgeDoesNotCloseTheBreaker() async throws {
        try await withClients({ number, _ in number == 1 ? Self.refusal("invalid_client") : Self.html }) {
            clients,
            server,
            clock in
            let client = try #require(clients["com.example.app"])
            _ = try await client.revoke(Secret("r"))
            clock.advance(30)
            _ = try await client.revoke(Secret("r"))
            #expect(server.received.count == 2)
            #expect(clients.isPaused("com.example.app"))
            #expect(clients.health(of: "com.example.app").refusal?.code == .invalidClient)
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
        #expect(breakers.health(of: key).state == .closed(failures: 0))
    }

    @Test func anAskedSelfTestClosesTheBreaker() async throws {
        try await withClients({ number, _ in Self.refusal(number == 1 ? "invalid_client" : "invalid_grant") }) {
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
        try await withClients(
            { number, _ in Self.refusal(number <= 2 ? "invalid_client" : "invalid_grant") },
            logger: lines.logger
        ) { clients, _, _ in
            let client = try #require(clients["com.example.app"])
            for _ in 0..<4 { _ = try await client.selfTest() }
            #expect(!clients.isPaused("com.example.app"))
            let told = lines.all.filter { $0.contains("this client id") }.map { $0.split(separator: " ").first }
            #expect(told == ["error", "notice"])
        }
    }

    // MARK: - Transfer

    @Test func transferCalls() async throws {
        try await withClients({ _, request in
            if request.body.contains("client_credentials") {
                return LyingServer.reply(
                    "200 OK",
                    #"{"access_token":"migrate","token_type":"Bearer","expires_in":3600}"#
                )
            }
            if request.body.contains("transfer_sub=gone") { return Self.refusal("invalid_request") }
            if request.body.contains("transfer_sub=") {
                return LyingServer.reply("200 OK", #"{"sub":"new","email":"x@y","is_private_email":"true"}"#)
            }
            return LyingServer.reply("200 OK", #"{"transfer_sub":"t-1"}"#)
        }) { clients, server, _ in
            let client = try #require(clients["com.example.app"])
            guard case .granted(let token, lifetime: .seconds(3600)) = try await client.migrationToken(),
                case .done("t-1") = try await client.transferIdentifier(
                    ofSub: "old",
                    targetTeam: "OTHERTEAM1",
                    token: token
                ),
                case .done(let user) = try await client.exchange(transferIdentifier: "t-1", token: token),
                case .userRefused = try await client.exchange(transferIdentifier: "gone", token: token)
            else {
                Issue.record("unexpected outcome")
                return
            }
            #expect(user == TransferredUser(sub: "new", email: "x@y", isPrivateEmail: true))
            #expect(server.received[0].body.contains("scope=user.migration"))
            #expect(server.received[1].path == "/auth/usermigrationinfo")
            #expect(server.received[1].header("Authorization") == "Bearer migrate")
            #expect(form(server.received[1])["target"] == "OTHERTEAM1")
            #expect(form(server.received[1])["sub"] == "old")
        }
    }

    // MARK: - Keys

    @Test func keysRotateAndAFloodOfKeyIDsDrivesNoTraffic() async throws {
        let served = Mutex<[Signer]>([.first])
        let isDown = Mutex(false)
        try await withClients({ _, _ in
            isDown.withLock { $0 }
                ? LyingServer.reply("200 OK", "<html>")
                : LyingServer.reply("200 OK", (try? Signer.jwks(served.withLock { $0 })) ?? "")
        }) { clients, server, clock in
            let first = try Signer.first.sign(Claims.identity())
            let second = try Signer.second.sign(Claims.identity())
            #expect(try await (clients.verify(identityToken: first, for: "com.example.app")).isGood)
            #expect(server.received.count == 1)

            // A flood of invented key ids inside the cool-down.
            for number in 0..<100 {
                let token = try Signer.first.sign(Claims.identity(), header: #"{"alg":"RS256","kid":"k\#(number)"}"#)
                let result = try await clients.verify(identityToken: token, for: "com.example.app")
                #expect(result.problem == .keysUnavailable)
            }
            #expect(server.received.count == 1)

            served.withLock { $0 = [.first, .second] }
            clock.advance(31)
            #expect(try await (clients.verify(identityToken: second, for: "com.example.app")).isGood)
            #expect(server.received.count == 2)

            // Apple is down for hours: the last good set serves.
            isDown.withLock { $0 = true }
            clock.advance(7200)
            #expect(try await (clients.verify(identityToken: second, for: "com.example.app")).isGood)
            #expect(try await (clients.verify(identityToken: first, for: "com.example.app")).isGood)

            // The token of another client of ours is not for this one.
            let result = try await clients.verify(identityToken: first, for: "com.example.web")
            #expect(result.problem == .audience)
        }
    }

    /// Apple changed its keys and its key endpoint is down, or somebody used up the cool-down: that refuses nothing for
    /// good.
    @Test func aKeyThatCannotBeFetchedNowIsNotAForeignOne() async throws {
        let served = Mutex<[Signer]?>([.first])
        try await withClients({ _, _ in
            served.withLock { $0 }.map { LyingServer.reply("200 OK", (try? Signer.jwks($0)) ?? "") }
                ?? LyingServer.reply("404 Not Found")
        }) { clients, _, clock in
            let first = try Signer.first.sign(Claims.identity())
            #expect(try await clients.verify(identityToken: first, for: "com.example.app").isGood)
            let second = try Signer.second.sign(Claims.identity())
            let body = Array(#"{"payload":"\#(try Signer.second.sign(Claims.notification()))"}"#.utf8)
            served.withLock { $0 = nil }
            // Within the cool-down, and after it with a fetch that fails.
            for _ in 0..<2 {
                clock.advance(20)
                #expect(
                    try await clients.verify(identityToken: second, for: "com.example.app").problem == .keysUnavailable
                )
                #expect(try await clients.verify(notification: body).problem == .keysUnavailable)
                // Straight from Apple it is believed by the connection, and only then; its claims are looked at.
                #expect(try await clients.verify(identityTokenFromApple: second, for: "com.example.app").isGood)
                #expect(
                    try await clients.verify(identityTokenFromApple: second, for: "com.example.web").problem
                        == .audience
                )
            }
            served.withLock { $0 = [.first] }
            clock.advance(31)
            // A set that Apple has not brought up to date yet refuses nothing for good, and throws no grant away; a bad
            // signature does.
            #expect(try await clients.verify(notification: body).problem == .keysUnavailable)
            #expect(try await clients.verify(identityToken: second, for: "com.example.app").problem == .keysUnavailable)
            #expect(try await clients.verify(identityTokenFromApple: second, for: "com.example.app").isGood)
            let forged = try Signer.second.sign(Claims.identity(), header: #"{"alg":"RS256","kid":"first-key"}"#)
            #expect(
                try await clients.verify(identityTokenFromApple: forged, for: "com.example.app").problem == .signature
            )
            // What came long before that fetch is settled by it.
            clock.advance(5)
            let before = Claims.now - 900
            #expect(try await clients.verify(notification: body, arrived: before).problem == .unknownKey)
            #expect(try await clients.verify(notification: body).problem == .keysUnavailable)
            served.withLock { $0 = [.first, .second] }
            clock.advance(31)
            #expect(try await clients.verify(notification: body).isGood)
        }
    }

    /// A machine whose clock is minutes away would throw away what can then never be revoked.
    @Test(arguments: [(-120.0, TokenProblem.notYetIssued), (100_000, .expired)])
    func ourClockThrowsNoGrantAway(_ seconds: Double, _ problem: TokenProblem) async throws {
        try await withClients({ _, _ in LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "") }) {
            clients,
            _,
            clock in
            let token = try Signer.first.sign(Claims.identity())
            clock.advance(seconds)
            #expect(try await clients.verify(identityToken: token, for: "com.example.app").problem == problem)
            #expect(try await clients.verify(identityTokenFromApple: token, for: "com.example.app").isGood)
            #expect(
                try await clients.verify(identityTokenFromApple: token, for: "com.example.web").problem == .audience
            )
        }
    }

    @Test func anOldSetServesWhileItIsFetchedAnew() async throws {
        let isSlow = Mutex(false)
        try await withClients({ _, _ in
            isSlow.withLock { $0 } ? .silence : LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "")
        }) { clients, _, clock in
            let token = try Signer.first.sign(Claims.identity())
            #expect(try await clients.verify(identityToken: token, for: "com.example.app").isGood)
            isSlow.withLock { $0 = true }
            clock.advance(7200)
            let began = ContinuousClock.now
            #expect(try await clients.verify(identityToken: token, for: "com.example.app").isGood)
            // The fetch behind waits five seconds for its first answer.
            #expect(ContinuousClock.now - began < .seconds(4))
        }
    }

    @Test func withoutAnyKeysThatIsSaid() async throws {
        try await withClients({ _, _ in LyingServer.reply("404 Not Found") }) { clients, _, _ in
            let token = try Signer.first.sign(Claims.identity())
            let result = try await clients.verify(identityToken: token, for: "com.example.app")
            #expect(result.problem == .keysUnavailable)
        }
    }

    @Test func notificationsFetchKeysOnlyForWhatLooksSigned() async throws {
        try await withClients({ _, _ in LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "") }) {
            clients,
            server,
            _ in
            for body in ["", "{}", #"{"payload":"a.b.c"}"#] {
                #expect(try await clients.verify(notification: Array(body.utf8)).problem == .malformed)
            }
            #expect(server.received.isEmpty)
            let body = #"{"payload":"\#(try Signer.first.sign(Claims.notification()))"}"#
            #expect(try await clients.verify(notification: Array(body.utf8)).isGood)
            #expect(server.received.count == 1)
        }
    }

    @Test func aClientIsConfiguredOnce() async throws {
        try await withClients({ _, _ in .silence }) { clients, server, _ in
            let identity = try #require(clients["com.example.app"]).identity
            #expect(clients.clientIDs == ["com.example.app", "com.example.web"])
            #expect(clients["com.example.other"] == nil)
            try await HTTPCaller.withCaller(logger: Logger(label: "test")) { caller in
                _ = #expect(throws: AppleClients.DuplicateClient.self) {
                    try AppleClients(
                        [identity, identity],
                        address: ServiceAddress("http://127.0.0.1:\(server.port)"),
                        caller: caller,
                        logger: Logger(label: "test")
                    )
                }
            }
        }
    }
}

extension Result where Failure == TokenProblem {
    fileprivate var isGood: Bool { if case .success = self { true } else { false } }
    fileprivate var problem: TokenProblem? { if case .failure(let problem) = self { problem } else { nil } }
}
