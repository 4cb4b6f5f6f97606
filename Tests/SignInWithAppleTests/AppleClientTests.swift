import Foundation
import HTTPCalls
import Logging
import Sealing
import TestSupport
import Testing

@testable import SignInWithApple

/// The calls of the client against a server that says what Apple says, and what it should never say.
@Suite(.timeLimit(.minutes(5))) struct AppleClientTests {
    @Test func exchangeSendsWhatAppleWants() async throws {
        try await LyingApple.withClients({ _, _ in LyingServer.reply("200 OK", LyingApple.grant) }) {
            clients,
            server,
            _ in
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
            let fields = LyingApple.form(request)
            #expect(fields["code"] == "c.0&+=")
            #expect(fields["grant_type"] == "authorization_code")
            #expect(fields["client_id"] == "com.example.app")
            #expect(fields["redirect_uri"] == nil)
            let secret = Secret(fields["client_secret"] ?? "")
            #expect(client.identity.key.hasSigned(secret))

            _ = try await client.exchange(code: Secret("c"), redirectURI: "https://example.com/cb")
            #expect(LyingApple.form(server.received[1])["redirect_uri"] == "https://example.com/cb")
        }
    }

    /// Apple says the same of a wrong key and of a wrong clock: its own clock tells one from the other.
    @Test(arguments: [(31, true), (-301, true), (20, false), (-200, false)])
    func aClockThatMakesSecretsBadIsNamed(_ ahead: Int, _ isTold: Bool) async throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Claims.now - Double(ahead))
        let answer = LyingServer.reply(
            "400 Bad Request",
            #"{"error":"invalid_client"}"#,
            headers: "Date: \(date)\r\n"
        )
        try await LyingApple.withClients({ _, _ in answer }) { clients, _, _ in
            let client = try #require(clients["com.example.app"])
            guard case .misconfigured(let reason) = try await client.selfTest() else {
                Issue.record("not misconfigured")
                return
            }
            let words = "\(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") Apple's"
            #expect("\(reason)".contains(words) == isTold, "\(reason)")
        }
    }

    /// One after the other, each would take as long as a connection may where Apple cannot be reached.
    @Test func clientIDsAreTestedAtOnce() async throws {
        try await LyingApple.withClients({ _, _ in .silence }, deadline: .seconds(60)) { clients, server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await clients.selfTests() }
                try await eventually("both are asked about") {
                    Set(server.received.compactMap { LyingApple.form($0)["client_id"] }).count == 2
                }
                group.cancelAll()
            }
        }
    }

    @Test func exchangeOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("codeRefused", LyingApple.refusal("invalid_grant")),
            ("refused", LyingApple.refusal("invalid_request")),
            ("refused", LyingApple.refusal("unauthorized_client")),
            ("refused", LyingApple.refusal("invalid_client")),
            ("later", LyingServer.reply("429 Too Many Requests")),
            ("ambiguous", LyingServer.reply("503 Service Unavailable", "<html>")),
            ("ambiguous", LyingServer.reply("403 Forbidden", "<html>")),
            ("ambiguous", LyingServer.reply("302 Found", headers: "Location: /\r\n")),
            ("ambiguous", LyingApple.html),
            ("ambiguous", LyingServer.reply("200 OK", "{}")),
            ("ambiguous", LyingServer.reply("200 OK", #"{"refresh_token":"r"}"#)),
            ("ambiguous", LyingServer.reply("200 OK", #"{"access_token":"a","refresh_token":""}"#)),
            ("ambiguous", LyingServer.reply("200 OK", String(repeating: " ", count: 1 << 17))),
            ("ambiguous", .sendAndClose("")),
            ("ambiguous", .sendAndClose("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")),
        ]
        for (expected, act) in cases {
            try await LyingApple.withClients({ _, _ in act }) { clients, server, _ in
                let outcome = try await clients["com.example.app"]?.exchange(code: Secret("c"), redirectURI: nil)
                #expect(Mirror(reflecting: try #require(outcome)).children.first?.label == expected, "\(act)")
                let sent = server.received.count { LyingApple.form($0)["code"] == "c" }
                #expect(sent == 1, "a code is sent once, whatever happens: \(act)")
            }
        }
    }

    @Test func anExchangeThatTimesOutIsAmbiguousAndNotRepeated() async throws {
        try await LyingApple.withClients({ _, _ in .silence }, deadline: .seconds(1)) { clients, server, _ in
            let outcome = try await clients["com.example.app"]?.exchange(code: Secret("c"), redirectURI: nil)
            guard case .ambiguous(let delay)? = outcome else {
                Issue.record("not ambiguous: \(String(describing: outcome))")
                return
            }
            #expect(delay.cause == .timedOut)
            #expect(server.received.count == 1)
        }
    }

    @Test func refreshCheckOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("live", LyingServer.reply("200 OK", #"{"access_token":"a","token_type":"Bearer"}"#)),
            ("live", LyingServer.reply("200 OK", LyingApple.grant)),
            ("grantGone", LyingApple.refusal("invalid_grant")),
            ("doubtful", LyingApple.refusal("invalid_request")),
            ("misconfigured", LyingApple.refusal("invalid_client")),
            ("misconfigured", LyingApple.refusal("something_new")),
            ("later", LyingApple.html),
            ("later", LyingServer.reply("500 Internal Server Error")),
        ]
        for (expected, act) in cases {
            try await LyingApple.withClients({ _, _ in act }) { clients, _, _ in
                let outcome = try #require(try await clients["com.example.app"]?.check(refreshToken: Secret("r")))
                #expect(Mirror(reflecting: outcome).children.first?.label ?? "\(outcome)" == expected, "\(act)")
            }
        }
    }

    @Test func revokeIsRepeatedAndTakesAnEmptyBody() async throws {
        try await LyingApple.withClients({ number, _ in
            number == 1 ? .sendAndClose("") : LyingServer.reply("200 OK")
        }) { clients, server, _ in
            let outcome = try await clients["com.example.app"]?.revoke(Secret("r"))
            guard case .revoked? = outcome else {
                Issue.record("not revoked: \(String(describing: outcome))")
                return
            }
            #expect(server.received.count == 2)
            #expect(server.received[1].path == "/auth/revoke")
            #expect(LyingApple.form(server.received[1])["token"] == "r")
            #expect(LyingApple.form(server.received[1])["token_type_hint"] == "refresh_token")
        }
    }

    @Test func revokeOutcomes() async throws {
        let cases: [(String, LyingServer.Act)] = [
            ("grantUnknown", LyingApple.refusal("invalid_grant")),
            ("misconfigured", LyingApple.refusal("invalid_request")),
            ("misconfigured", LyingApple.refusal("invalid_client")),
            ("later", LyingServer.reply("400 Bad Request", "<html>")),
            // Apple's success is empty. A page of the edge, under whatever status, ends no credential.
            ("later", LyingApple.html),
            ("later", LyingServer.reply("200 OK", #"{"error":"invalid_grant"}"#)),
            ("later", LyingServer.reply("200 OK", "[]")),
            ("later", LyingServer.reply("200 OK", "ok")),
            ("revoked", LyingServer.reply("200 OK")),
            ("revoked", LyingServer.reply("200 OK", " \r\n")),
            ("revoked", LyingServer.reply("200 OK", "{}")),
            ("later", LyingServer.reply("429 Too Many Requests", headers: "Retry-After: 100\r\n")),
        ]
        for (expected, act) in cases {
            try await LyingApple.withClients({ _, _ in act }) { clients, _, _ in
                let outcome = try await clients["com.example.app"]?.revoke(Secret("r"))
                let value = try #require(outcome)
                #expect(Mirror(reflecting: value).children.first?.label ?? "\(value)" == expected, "\(act)")
                if case .later(let delay)? = outcome, delay.cause == .throttled {
                    #expect(delay.retryAfter == .seconds(100))
                }
            }
        }
    }

    @Test func transferCalls() async throws {
        try await LyingApple.withClients({ _, request in
            if request.body.contains("client_credentials") {
                return LyingServer.reply(
                    "200 OK",
                    #"{"access_token":"migrate","token_type":"Bearer","expires_in":3600}"#
                )
            }
            if request.body.contains("transfer_sub=gone") { return LyingApple.refusal("invalid_request") }
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
            #expect(LyingApple.form(server.received[1])["target"] == "OTHERTEAM1")
            #expect(LyingApple.form(server.received[1])["sub"] == "old")
        }
    }

    @Test func aClientIsConfiguredOnce() async throws {
        try await LyingApple.withClients({ _, _ in .silence }) { clients, server, _ in
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
