import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SignInWithApple

/// What the client makes of the keys that Apple serves, and of there being none.
@Suite(.timeLimit(.minutes(5))) struct AppleKeysTests {
    @Test func keysRotateAndAFloodOfKeyIDsDrivesNoTraffic() async throws {
        let served = Mutex<[Signer]>([.first])
        let isDown = Mutex(false)
        try await LyingApple.withClients({ _, _ in
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

    /// Whoever stands between could have written it: the address leads here, and its name does not say so.
    @Test func overAPlainConnectionNoTokenIsBelievedWithoutItsKey() async throws {
        try await LyingApple.withClients(
            { _, _ in LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "") },
            host: "0.0.0.0"
        ) { clients, _, _ in
            let known = try Signer.first.sign(Claims.identity())
            #expect(try await clients.verify(identityTokenFromApple: known, for: "com.example.app").isGood)
            let strange = try Signer.second.sign(Claims.identity())
            let result = try await clients.verify(identityTokenFromApple: strange, for: "com.example.app")
            #expect(result.problem == .keysUnavailable)
        }
    }

    /// Apple changed its keys and its key endpoint is down, or somebody used up the cool-down: that refuses nothing for
    /// good.
    @Test func aKeyThatCannotBeFetchedNowIsNotAForeignOne() async throws {
        let served = Mutex<[Signer]?>([.first])
        try await LyingApple.withClients({ _, _ in
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
        try await LyingApple.withClients({ _, _ in LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "") }) {
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
        try await LyingApple.withClients({ _, _ in
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
        try await LyingApple.withClients({ _, _ in LyingServer.reply("404 Not Found") }) { clients, _, _ in
            let token = try Signer.first.sign(Claims.identity())
            let result = try await clients.verify(identityToken: token, for: "com.example.app")
            #expect(result.problem == .keysUnavailable)
        }
    }

    @Test func notificationsFetchKeysOnlyForWhatLooksSigned() async throws {
        try await LyingApple.withClients({ _, _ in LyingServer.reply("200 OK", (try? Signer.jwks([.first])) ?? "") }) {
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
}

extension Result where Failure == TokenProblem {
    fileprivate var isGood: Bool { if case .success = self { true } else { false } }
    fileprivate var problem: TokenProblem? { if case .failure(let problem) = self { problem } else { nil } }
}
