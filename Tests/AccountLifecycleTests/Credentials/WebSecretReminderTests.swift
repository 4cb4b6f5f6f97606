import AccountLifecycle
import Foundation
import Logging
import Sealing
import SignInWithApple
import Synchronization
import Testing

@Suite struct WebSecretReminderTests {
    private static let day: TimeInterval = 86_400

    /// Keeps what is logged.
    private struct Recorder: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let told = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
            lines.add("\(event.level) \(event.message) \(told)")
        }
    }

    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// What is said about a secret that was made for so many days, so many days before its end.
    private func said(before days: Double, of secret: Secret<String>, end: Date) -> [String] {
        let lines = Lines()
        let reminder = WebSecretReminder(secret) { end - days * Self.day }
        reminder.remind(Logger(label: "test") { _ in Recorder(lines: lines) })
        return lines.all
    }

    @Test func warnsOnceInTheLastThirtyDaysAndAfterwards() throws {
        let made = Date(timeIntervalSince1970: 1_750_000_000)
        let identity = try AppleClientIdentity(
            clientID: "com.example.web",
            teamID: "TEAM123456",
            keyID: "KEY1234567",
            key: .random()
        )
        let secret = try ClientSecret.mint(for: identity, now: made, lifetime: .seconds(150 * Self.day))
        guard case .clientSecret(let facts) = StaticClientSecret.inspect(secret, now: made) else {
            Issue.record("not a client secret")
            return
        }
        let end = try #require(facts.expiresAt)
        for early in [140, 31, 30] { #expect(said(before: Double(early), of: secret, end: end) == []) }
        for (late, days) in [(29.99, 29), (11.5, 11), (0.5, 0)] {
            let lines = said(before: late, of: secret, end: end)
            #expect(lines.count == 1)
            #expect(lines.first?.hasPrefix("warning the web client secret ends soon") == true)
            #expect(lines.first?.contains("client_id=com.example.web days_left=\(days) ") == true)
            #expect(lines.first?.contains(secret.reveal()) == false)
        }
        let over = said(before: -40, of: secret, end: end)
        #expect(over.count == 1)
        #expect(over.first?.contains("has ended") == true)
    }

    /// What is no client secret is told by the doctor, not every day.
    @Test func saysNothingOfWhatHasNoEnd() {
        #expect(said(before: 1, of: Secret("hello"), end: Date()) == [])
    }
}
