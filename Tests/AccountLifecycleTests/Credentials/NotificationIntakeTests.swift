import Foundation
import JobQueue
import Postgres
import Sandbox
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct NotificationIntakeTests {
    /// Runs what is enqueued, as a worker does.
    private func work(_ stage: CredentialStage, _ services: CredentialServices) async throws {
        var registry = JobRegistry()
        try CredentialJobs.register(in: &registry, services: services)
        try await registry.work(in: stage.pool)
    }

    @Test func consentRevokedSignsOutAndForgets() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            let intake = NotificationIntake(services)
            let told = try stage.told(about: anna.sub)
            #expect(try await intake.take(told) == .stored(events: 1))
            #expect(try await stage.traces(of: anna) == .init())
            try await work(stage, services)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "consent_revoked")
            )
            // A bystander keeps everything.
            #expect(try await stage.traces(of: ben) == .init())
            #expect(try await stage.outcomes() == ["consent-revoked done"])

            // Delivered again: known, and nothing happens.
            #expect(try await intake.take(told) == .duplicate)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
        }
    }

    /// Consent is one app's, or its group's: what is held for another is kept, since it may have to be revoked, and
    /// asked about.
    @Test func anotherAppsCredentialIsKeptAndAskedAbout() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let web = "com.example.web"
            let second = try stage.sandbox.apple.signIn(clientID: web, sub: anna.sub)
            try await stage.hold(second.authorizationCode, of: anna, clientID: web)
            try await stage.sql("update accountctl.apple_credentials set check_after = now() + interval '1 day'")
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            let left = try await stage.value(
                "select string_agg(client_id, ',') from accountctl.apple_credentials",
                as: String?.self
            )
            #expect(left == web)
            #expect(try await CredentialChecks(services).sweep().live == 1)

            // The next time Apple ends both: the second is found out by being asked about.
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: web)
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await work(stage, services)
            #expect(try await CredentialChecks(services).sweep().gone == 1)
            try await work(stage, services)
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }

    /// A sub is one for the team: coming back to another team's app does not make this one's end a thing of the past.
    @Test func aSignInWithAnotherTeamDoesNotMakeAnEventStale() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
                values (
                    '002.of-another-team', \(anna.id), '{"sub": "002.of-another-team"}', 'apple', now(), now(),
                    now() + interval '1 hour'
                )
                """
            )
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }

    /// Two Apple Accounts may be linked to one account: what one of them does is no end of the other's grant.
    @Test func anEventAboutOneAppleAccountKeepsTheCredentialOfAnother() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
                values (
                    '001.linked-too', \(anna.id), '{"sub": "001.linked-too"}', 'apple', now() - interval '3 hours',
                    now() - interval '3 hours', now() - interval '3 hours'
                )
                """
            )
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: "001.linked-too"))
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 1)
        }
    }

    /// A weekend without a worker: Apple's notifications end after a day, and are not sent again.
    @Test func theInboxIsJudgedByWhenItCame() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let weekend = 3 * 86_400.0
            let told = try stage.told(about: anna.sub, ago: weekend)
            let text = String(decoding: told, as: UTF8.self)
            // What is brought that late is refused, as it is at the listener.
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.outcomes() == [])
            let dropped = lines.all.filter { $0.hasPrefix("warning") }
            #expect(dropped.count == 1)
            #expect(dropped.first?.contains("thrown away") == true)
            #expect(dropped.first?.contains("expired=1") == true)

            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            try await stage.sql("update accountctl.apple_inbox set received_at = now() - interval '3 days'")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.outcomes() == ["consent-revoked waiting"])
            #expect(lines.all.count { $0.hasPrefix("warning") } == 1)
        }
    }

    /// How old it is says how long no worker ran: it is given up after a day of looks, with a line.
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
            #expect(!lines.all.contains { $0.contains("thrown away") })
            try await stage.sql("update accountctl.apple_inbox set tries = 1439")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(try await stage.value("select count(*) from accountctl.apple_inbox", as: Int.self) == 0)
            let dropped = lines.all.filter { $0.hasPrefix("warning") && $0.contains("thrown away") }
            #expect(dropped.count == 1)
            #expect(dropped.first?.contains(hasKeys ? "not_stored=1" : "keysUnavailable=1") == true)
        }
    }

    /// A key that could not be fetched, and a row that waited through it.
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

    /// Apple may sign with a key that its caches do not hand out yet.
    @Test func theInboxKeepsWhatANewKeyMayHaveSigned() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let lines = LogLines()
            let services = stage.services(logger: lines.logger)
            let text = String(decoding: try stage.told(about: anna.sub, forgery: .unknownKeyID), as: UTF8.self)
            _ = try await stage.value("select accountctl.receive_apple_notification(\(text))", as: Bool.self)
            #expect(try await NotificationInbox(services).read() == 0)
            try await stage.sql("update accountctl.apple_inbox set received_at = now() - interval '16 minutes'")
            #expect(try await NotificationInbox(services).read() == 1)
            #expect(lines.all.contains { $0.contains("thrown away") && $0.contains("unknownKey=1") })
        }
    }

    /// Apple's signature is good: it is our clock that is slow, and that passes.
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
        }
    }

    /// What the database refuses of one row is no reason to leave the others.
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
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked done", "consent-revoked done"])
        }
    }

    @Test func accountDeletedRequestsDeletionWithGrace() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            for event in ["account-delete", "account-deleted"] {
                let told = try stage.told(.init(rawValue: event), about: anna.sub)
                #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            }
            try await work(stage, services)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 1)
            )
            let (origin, state) = try await stage.admin.withConnection { connection in
                try connection.one("select origin, state from accountctl.deletion_requests", as: (String, String).self)
            }
            #expect(origin == "apple")
            #expect(state == "grace")
        }
    }

    @Test func whoeverCameBackIsNotHurt() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            // It happened two hours ago; the sign-in is one hour old.
            for event in ["consent-revoked", "account-deleted"] {
                let told = try stage.told(.init(rawValue: event), about: anna.sub, ago: 7200)
                #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            }
            try await work(stage, services)
            #expect(try await stage.traces(of: anna) == .init())
            #expect(try await stage.outcomes() == ["consent-revoked stale", "account-deleted stale"])
        }
    }

    /// The auth server writes a sign-in to `updated_at` alone, and the app may not have handed in a new code.
    @Test(arguments: [true, false])
    func whoeverCameBackWithoutACodeIsNotHurt(_ cameBack: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("update accountctl.apple_credentials set obtained_at = now() - interval '3 hours'")
            if !cameBack { try await stage.sql("update auth.identities set updated_at = now() - interval '3 hours'") }
            let services = stage.services()
            let told = try stage.told(about: anna.sub, ago: 7200)
            #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked \(cameBack ? "stale" : "done")"])
            #expect(try await stage.traces(of: anna).sessions == (cameBack ? 1 : 0))
        }
    }

    @Test func nothingForgedIsStored() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let intake = NotificationIntake(stage.services())
            for forgery in Forgery.allCases {
                let told = try stage.told(about: anna.sub, forgery: forgery)
                switch try await intake.take(told) {
                case .refused: break
                // A key that nobody knows may be Apple's newest, and what Apple signed of the future passes with time.
                case .notNow where [.unknownKeyID, .issuedInFuture].contains(forgery): break
                case let receipt: Issue.record("\(forgery): \(receipt)")
                }
            }
            #expect(try await intake.take(Array(repeating: 0x20, count: 100_000)) == .refused(.tooLarge))
            #expect(try await stage.outcomes() == [])
            let jobs = try await stage.value("select count(*) from accountctl.jobs", as: Int.self)
            #expect(jobs == 0)
        }
    }

    /// Apple does not deliver again what was answered with 200: a commit that fails must be told.
    @Test func whatCouldNotBeCommittedIsNotAnsweredAsStored() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let intake = NotificationIntake(stage.services())
            let told = try stage.told(about: anna.sub)
            try await stage.sql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    raise exception 'not now';
                end
                $$
                """
            )
            // Speaks at the commit, when every statement has gone well.
            try await stage.sql(
                """
                create constraint trigger refuse after insert on accountctl.credential_events
                deferrable initially deferred for each row execute function public.refuse()
                """
            )
            await #expect(throws: PostgresError.self) { try await intake.take(told) }
            #expect(try await stage.outcomes() == [])
            try await stage.sql("drop trigger refuse on accountctl.credential_events")
            #expect(try await intake.take(told) == .stored(events: 1))
        }
    }

    @Test func strangersAndUnknownTypesAreKeptAndChangeNothing() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            let intake = NotificationIntake(services)
            for (event, sub) in [("account-deleted", "001.stranger.9"), ("brand-new", anna.sub)] {
                let told = try stage.told(.init(rawValue: event), about: sub)
                #expect(try await intake.take(told) == .stored(events: 1))
            }
            try await work(stage, services)
            #expect(try await stage.traces(of: anna) == .init())
            #expect(
                try await stage.outcomes() == ["account-deleted unknown_account", "other.brand-new unknown_type"]
            )
            // The sub of a stranger stands nowhere.
            let rows = try await stage.value(
                "select count(*) from accountctl.credential_events as e where e::text like '%stranger%'",
                as: Int.self
            )
            #expect(rows == 0)
        }
    }

    @Test func aNotificationWithoutItsNameIsTakenInOnce() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            let told = try stage.told(about: anna.sub) { $0.isNamed = false }
            #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            #expect(try await NotificationIntake(services).take(told) == .duplicate)
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }

    @Test func anErasureHearsItsOwnEcho() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.beginErasure(of: anna.id)
            let services = stage.services()
            let told = try stage.told(about: anna.sub)
            _ = try await NotificationIntake(services).take(told)
            try await work(stage, services)
            #expect(try await stage.outcomes() == ["consent-revoked echo"])
            #expect(try await stage.traces(of: anna).credentials == 1)
        }
    }

    /// Its rows are locked while they are deleted, for half an hour where a table is large: nobody else's event waits
    /// for that.
    @Test func anEchoDoesNotWaitForTheDelete() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.beginErasure(of: anna.id)
            let services = stage.services()
            let echo = try stage.told(about: anna.sub)
            try await stage.pool.withTransaction { delete in
                try delete.execute("select from auth.users where id = \(anna.id) for update")
                // A wait would end as an error.
                #expect(try await NotificationIntake(services).take(echo) == .stored(events: 1))
            }
            #expect(try await stage.outcomes() == ["consent-revoked echo"])
        }
    }

    @Test func forwardingIsSwitchedWithTheEvent() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            let told = try stage.told(.emailDisabled, about: anna.sub) {
                ($0.email, $0.isPrivateEmail) = ("x@privaterelay.appleid.com", true)
            }
            _ = try await NotificationIntake(services).take(told)
            #expect(try await stage.forwarding(of: anna) == ["x@privaterelay.appleid.com off"])
            #expect(try await stage.outcomes() == ["email-disabled forwarding"])
            let rows = try await stage.value(
                "select count(*) from accountctl.credential_events as e where e::text like '%privaterelay%'",
                as: Int.self
            )
            #expect(rows == 0)

            // Older than what is known; and without an address there is nothing to switch.
            let older = try stage.told(.emailEnabled, about: anna.sub, ago: 60) {
                ($0.email, $0.isPrivateEmail) = ("x@privaterelay.appleid.com", true)
            }
            _ = try await NotificationIntake(services).take(older)
            _ = try await NotificationIntake(services).take(stage.told(.emailEnabled, about: anna.sub))
            #expect(
                try await stage.outcomes()
                    == ["email-disabled forwarding", "email-enabled stale", "email-enabled not_tracked"]
            )
            #expect(try await stage.forwarding(of: anna) == ["x@privaterelay.appleid.com off"])
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
            try await work(stage, services)
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
