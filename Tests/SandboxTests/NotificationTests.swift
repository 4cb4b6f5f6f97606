import Foundation
import Hummingbird
import NIOCore
import Sandbox
import Synchronization
import Testing

/// Apple's notifications as they arrive at the app's server.
@Suite struct NotificationTests {
    /// A server that keeps what is posted to it, for as long as `body` runs.
    private func withReceiver<Result: Sendable>(
        _ body: @Sendable (_ url: String, _ received: AsyncStream<String>) async throws -> Result
    ) async throws -> Result {
        let (posts, intake) = AsyncStream.makeStream(of: String.self)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let router = Router()
        router.post("/apple/notifications") { request, _ in
            intake.yield(String(buffer: try await request.body.collect(upTo: 1 << 20)))
            return HTTPResponse.Status.ok
        }
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { listening.yield($0.localAddress?.port ?? 0) }
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            let result = try await body("http://127.0.0.1:\(port)/apple/notifications", posts)
            group.cancelAll()
            return result
        }
    }

    private func claims(_ body: String) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String]
        return AppleCaller.claims(object?["payload"])
    }

    private func event(_ body: String) throws -> [String: Any] {
        let events = try #require(try claims(body)["events"] as? String)
        return try #require(try JSONSerialization.jsonObject(with: Data(events.utf8)) as? [String: Any])
    }

    @Test func aRevokeIsToldToThePrimaryAppID() async throws {
        try await withReceiver { url, received in
            var configuration = SandboxConfiguration()
            configuration.notificationURL = url
            try await Sandbox.with(configuration) { sandbox async throws in
                let web = AppleCaller(sandbox: sandbox, clientID: "com.example.web")
                let signIn = try sandbox.apple.signIn(clientID: web.clientID)
                let token = try #require(try await web.exchange(signIn.authorizationCode)["refresh_token"])
                _ = try await web.revoke(token)
                var iterator = received.makeAsyncIterator()
                let body = try #require(await iterator.next())
                let claims = try claims(body)
                #expect(claims["aud"] as? String == "com.example.app")
                #expect(claims["iss"] as? String == "https://appleid.apple.com")
                let event = try event(body)
                #expect(event["type"] as? String == "consent-revoked")
                #expect(event["sub"] as? String == signIn.sub)
                #expect((event["event_time"] as? Int ?? 0) > 1_000_000_000_000)
            }
        }
    }

    /// Apple's come seconds later: whoever waits for the answer with something locked must not find the event there
    /// before it.
    @Test func aRevokeIsToldOnlyWhenItWasAnswered() async throws {
        try await withReceiver { url, received in
            var configuration = SandboxConfiguration()
            configuration.notificationURL = url
            try await Sandbox.with(configuration) { sandbox async throws in
                let caller = AppleCaller(sandbox: sandbox)
                let (first, second) = (
                    try await caller.refreshToken(sub: "first"), try await caller.refreshToken(sub: "second")
                )
                let gate = FaultGate()
                var fault = Fault(.genuine, effect: .before).times(1)
                fault.gate = gate
                sandbox.faults.set(fault, for: .appleRevoke)
                async let answer = caller.revoke(first)
                await gate.reached()
                // Told in the order in which they were given to the sender.
                _ = try await caller.revoke(second)
                var iterator = received.makeAsyncIterator()
                var told = [try event(try #require(await iterator.next()))["sub"] as? String]
                gate.open()
                #expect(try await answer.status == 200)
                told.append(try event(try #require(await iterator.next()))["sub"] as? String)
                #expect(told == ["second", "first"])
            }
        }
    }

    @Test func whatPeopleDoIsToldInApplesWords() async throws {
        try await Sandbox.with { sandbox async throws in
            let client = "com.example.web"
            let hidden = try sandbox.apple.signIn(clientID: client, hidesEmail: true)
            let open = try sandbox.apple.signIn(clientID: client)
            let off = try #require(sandbox.apple.setForwarding(false, sub: hidden.sub, clientID: client))
            #expect(off.event == .emailDisabled && off.email == hidden.email && off.audience == "com.example.app")
            #expect(sandbox.apple.setForwarding(true, sub: hidden.sub, clientID: client)?.event == .emailEnabled)
            #expect(sandbox.apple.setForwarding(false, sub: open.sub, clientID: client) == nil)
            #expect(sandbox.apple.stopUsing(sub: open.sub, clientID: client)?.event == .consentRevoked)
            #expect(sandbox.apple.stopUsing(sub: open.sub, clientID: client) == nil)
            let deleted = sandbox.apple.deleteAccount(sub: hidden.sub, clientID: client, spelling: .accountDelete)
            #expect(deleted?.event.rawValue == "account-delete")
            guard case .ended = sandbox.apple.consent(sub: hidden.sub, clientID: client) else {
                Issue.record("a deleted account consents to nothing")
                return
            }
            #expect(throws: SandboxError.self) { try sandbox.apple.signIn(clientID: client, sub: hidden.sub) }
        }
    }

    @Test func duplicatesCarryOneIdentifierAndFormsVary() async throws {
        try await withReceiver { url, received in
            try await Sandbox.with { sandbox async throws in
                var notification = AppleNotification(
                    .emailDisabled,
                    sub: "000001.aa.0001",
                    audience: "com.example.app",
                    eventTime: Date().addingTimeInterval(-7200),
                    email: "x@privaterelay.appleid.com",
                    isPrivateEmail: true
                )
                notification.eventsForm = .object
                notification.timeUnit = .seconds
                notification.expires = false
                let statuses = try await sandbox.notifications.post(notification, to: url, copies: 2)
                #expect(statuses == [200, 200])
                var iterator = received.makeAsyncIterator()
                let first = try claims(try #require(await iterator.next()))
                let second = try claims(try #require(await iterator.next()))
                #expect(first["jti"] as? String == second["jti"] as? String)
                #expect(first["exp"] == nil)
                let event = try #require(first["events"] as? [String: Any])
                #expect((event["event_time"] as? Int ?? 0) < 100_000_000_000)
                #expect(event["is_private_email"] as? String == "true")
                notification.eventsForm = .array
                try await sandbox.notifications.post(notification, to: url)
                #expect(try claims(try #require(await iterator.next()))["events"] is [Any])
            }
        }
    }

    @Test(arguments: Forgery.allCases) func forgeriesDifferFromTheGenuine(_ forgery: Forgery) async throws {
        try await Sandbox.with { sandbox async throws in
            let notification = AppleNotification(
                .consentRevoked,
                sub: "000001.aa.0001",
                audience: "com.example.app",
                eventTime: Date()
            )
            let genuine = try sandbox.apple.sign(notification)
            let forged = try sandbox.apple.sign(notification, forgery: forgery)
            #expect(genuine != forged)
            #expect(try sandbox.apple.sign(notification) == genuine)
        }
    }
}
