import AccountLifecycle
import Foundation
import Logging
import Sealing
import SignInWithApple
import Synchronization
import Telemetry
import TestSupport
import Testing

@Suite struct WebSecretReminderTests {
    private static let day: TimeInterval = 86_400

    /// The log lines about a secret `days` days before its end.
    private func said(before days: Double, of secret: Secret<String>, end: Date) -> [String] {
        let lines = LogLines()
        let reminder = WebSecretReminder(WebSecretCopy { secret }) { end - days * Self.day }
        reminder.remind(lines.logger)
        return lines.all
    }

    /// Mints a client secret for the web flow.
    private func mint(at made: Date, days: Double) throws -> Secret<String> {
        let identity = try AppleClientIdentity(
            clientID: "com.example.web",
            teamID: "TEAM123456",
            keyID: "KEY1234567",
            key: .random()
        )
        return try ClientSecret.mint(for: identity, now: made, lifetime: .seconds(days * Self.day))
    }

    @Test func warnsOnceInTheLastThirtyDaysAndAfterwards() throws {
        let made = Date(timeIntervalSince1970: 1_750_000_000)
        let secret = try mint(at: made, days: 150)
        guard case .clientSecret(let facts) = StaticClientSecret.inspect(secret, now: made) else {
            Issue.record("not a client secret")
            return
        }
        let end = try #require(facts.expiresAt)
        for early in [140, 31, 30] { #expect(said(before: Double(early), of: secret, end: end) == []) }
        for (late, days) in [(29.99, 29), (11.5, 11), (0.5, 0)] {
            let lines = said(before: late, of: secret, end: end)
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("warning the web client secret expires soon") == true)
            #expect(lines.first?.contains("client_id=com.example.web days_left=\(days) ") == true)
            #expect(lines.first?.contains(secret.reveal()) == false)
        }
        let over = said(before: -40, of: secret, end: end)
        #expect(over.count == 1)
        #expect(over.first?.contains("has expired") == true)
    }

    /// A copy that is renewed while a worker runs is read again, for both the warning and the metric.
    @Test func theCopyIsReadAnew() throws {
        let now = Date()
        let (old, new) = (try mint(at: now, days: 10), try mint(at: now, days: 180))
        let held = Mutex<Secret<String>?>(old)
        let copy = WebSecretCopy {
            try held.withLock(\.self) ?? { throw SecretFile.Failure(path: "web.secret", reason: "it is gone") }()
        }
        let (lines, metrics) = (LogLines(), MetricsRegistry())
        let logger = lines.logger
        let reminder = WebSecretReminder(copy)
        func told() throws -> Double? {
            try copy.publish(factory: metrics)
            let line = metrics.text().split(separator: "\n").last
            return line?.split(separator: " ").last.flatMap { Double($0) }
        }
        reminder.remind(logger)
        #expect(lines.all.count == 1)
        #expect(abs(try #require(try told()) - now.timeIntervalSince1970 - 10 * Self.day) < 2)
        held.withLock { $0 = new }
        reminder.remind(logger)
        #expect(lines.all.count == 1)
        #expect(abs(try #require(try told()) - now.timeIntervalSince1970 - 180 * Self.day) < 2)
        held.withLock { $0 = nil }
        reminder.remind(logger)
        #expect(lines.all.last?.hasPrefix("warning the copy of the web client secret cannot be read") == true)
        #expect(lines.all.last?.contains("reason=web.secret: it is gone") == true)
        #expect(throws: SecretFile.Failure.self) { try told() }
    }

    /// An unreadable copy, which is checked every half minute, is logged once, and the metric keeps its last value.
    @Test func aCopyThatCannotBeReadIsToldOnce() throws {
        let secret = try mint(at: Date(), days: 180)
        let held = Mutex<Secret<String>?>(nil)
        var watch = WebSecretWatch(
            WebSecretCopy {
                try held.withLock(\.self) ?? { throw SecretFile.Failure(path: "web.secret", reason: "it is gone") }()
            }
        )
        let (lines, metrics) = (LogLines(), MetricsRegistry())
        for isThere in [false, false, true, true, false] {
            held.withLock { $0 = isThere ? secret : nil }
            watch.look(lines.logger, factory: metrics)
        }
        #expect(lines.all.map { $0.split(separator: " ")[0] } == ["warning", "notice", "warning"])
        #expect(lines.all.first?.contains("reason=web.secret: it is gone") == true)
        #expect(metrics.text().contains("apple_web_client_secret_expiry_timestamp_seconds 1"))
    }

    /// A value that is not a client secret is not logged every day; the doctor reports it.
    @Test func saysNothingOfWhatHasNoEnd() {
        #expect(said(before: 1, of: Secret("hello"), end: Date()) == [])
    }
}
