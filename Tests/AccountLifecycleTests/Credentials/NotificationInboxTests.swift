import Postgres
import Sandbox
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

/// The worker accepts, keeps or discards the unverified notifications in the inbox.
@Suite(.timeLimit(.minutes(5))) struct NotificationInboxTests {
    /// A notification's age is judged by when the inbox received it, not by when a worker reads it.
    ///
    /// Notifications expire after a day, and Apple does not resend them after a weekend without a worker.
    @Test func theInboxIsJudgedByWhenItCame() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let weekend = 3 * 86_400.0
            let told = try stage.told(about: anna.sub, ago: weekend)
            let text = String(decoding: told, as: UTF8.self)
            // A notification that arrives this late is refused, as it is at the listener.
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.outcomes() == [])
            let dropped = lines.all.filter { $0.hasPrefix("warning") }
            #expect(dropped.count == 1)
            #expect(dropped.first?.contains("were discarded") == true)
            #expect(dropped.first?.contains("expired=1") == true)

            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            try await stage.sql("update accountctl.apple_inbox set received_at = now() - interval '3 days'")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.outcomes() == ["consent-revoked waiting"])
            #expect(lines.all.count { $0.hasPrefix("warning") } == 1)
        }
    }

    /// A notification that waited long is given up after a day of attempts, with a log line, and not at its first
    /// attempt.
    ///
    /// Its age only shows how long no worker ran.
    @Test(arguments: [true, false])
    func whatWaitedLongIsNotGivenUpAtItsFirstLook(_ hasKeys: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let text = String(decoding: try stage.told(about: anna.sub), as: UTF8.self)
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            try await stage.sql("update accountctl.apple_inbox set received_at = now() - interval '1 day'")
            if hasKeys {
                try await stage.refuse("accountctl.credential_events", "insert", of: anna)
            } else {
                stage.sandbox.faults.set(.html(), for: .appleKeys)
            }
            #expect(try await NotificationInbox(services).read() == 0)
            #expect(try await NotificationInbox(services).read() == 0)
            #expect(try await stage.value("select tries from accountctl.apple_inbox", as: Int.self) == 2)
            // A flood of others does not displace it.
            #expect(try await stage.value("select not may_yield from accountctl.apple_inbox", as: Bool.self))
            #expect(!lines.all.contains { $0.contains("were discarded") })
            try await stage.sql("update accountctl.apple_inbox set tries = 1439")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.value("select count(*) from accountctl.apple_inbox", as: Int.self) == 0)
            let dropped = lines.all.filter { $0.hasPrefix("warning") && $0.contains("were discarded") }
            #expect(dropped.count == 1)
            #expect(dropped.first?.contains(hasKeys ? "not_stored=1" : "keysUnavailable=1") == true)
        }
    }

    /// The inbox keeps a notification whose key cannot be fetched at the moment.
    @Test func theInboxKeepsWhatCannotBeJudgedYet() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            #expect(try await NotificationIntake(services).take(stage.told(about: anna.sub)) == .stored(events: 1))
            try stage.sandbox.apple.rotateKeys(all: true)
            stage.sandbox.faults.set(.html(), for: .appleKeys)
            let late = String(decoding: try stage.told(about: anna.sub), as: UTF8.self)
            _ = try await stage.value("select accountctl.receive_apple_notification(\(late))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 0)
            #expect(try await stage.value("select count(*) from accountctl.apple_inbox", as: Int.self) == 1)
        }
    }

    /// The inbox keeps a notification with an unknown key for a while, since Apple's caches may not return a new key
    /// yet.
    @Test func theInboxKeepsWhatANewKeyMayHaveSigned() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let text = String(decoding: try stage.told(about: anna.sub, forgery: .unknownKeyID), as: UTF8.self)
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 0)
            #expect(try await stage.value("select may_yield from accountctl.apple_inbox", as: Bool.self))
            try await stage.sql("update accountctl.apple_inbox set received_at = now() - interval '16 minutes'")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(lines.all.contains { $0.contains("were discarded") && $0.contains("unknownKey=1") })
        }
    }

    /// A validly signed notification from the future is not refused, since our clock must be slow, which passes.
    @Test func whatIsOfTheFutureIsRefusedByNobody() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let told = try stage.told(about: anna.sub, ago: -120)
            #expect(try await NotificationIntake(services).take(told) == .notNow(.notYetIssued))
            #expect(lines.all.count { $0.hasPrefix("warning") && $0.contains("clock is slow") } == 1)
            let text = String(decoding: told, as: UTF8.self)
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 0)
            #expect(try await stage.value("select tries from accountctl.apple_inbox", as: Int.self) == 1)
            #expect(try await stage.value("select not may_yield from accountctl.apple_inbox", as: Bool.self))
        }
    }

    /// A row that the database refuses does not block the others.
    @Test func aRowThatCannotBeStoredStandsInNobodysWay() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            for person in [anna, ben] {
                let body = String(decoding: try stage.told(about: person.sub), as: UTF8.self)
                _ = try await stage.value("select accountctl.receive_apple_notification(\(body))", as: Bool.self)
            }
            try await stage.refuse("accountctl.credential_events", "insert", of: anna)
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.outcomes() == ["consent-revoked waiting"])
            try await stage.sql("drop trigger refuse on accountctl.credential_events")
            #expect(try await NotificationInbox(services).read() == 1)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done", "consent-revoked done"])
        }
    }

    @Test func theInboxIsVerifiedByTheWorker() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            let told = try stage.told(about: anna.sub)
            let good = String(decoding: told, as: UTF8.self)
            let first = try await stage.value("select accountctl.receive_apple_notification(\(good))", as: Bool.self)
            let again = try await stage.value("select accountctl.receive_apple_notification(\(good))", as: Bool.self)
            #expect(first)
            #expect(!again)
            _ = try await stage.value("select accountctl.receive_apple_notification('forged')", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 2)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.value("select count(*) from accountctl.apple_inbox", as: Int.self) == 0)
        }
    }

    @Test func theInboxIsBounded() async throws {
        try await CredentialStage.with { stage in
            await #expect(throws: PostgresError.self) {
                try await stage.sql("select accountctl.receive_apple_notification(repeat('x', 32769))")
            }
            try await stage.sql(
                "select accountctl.receive_apple_notification('n' || n) from generate_series(1, 1000) as n"
            )
            await #expect(throws: PostgresError.self) {
                try await stage.sql("select accountctl.receive_apple_notification('one more')")
            }
        }
    }
}
