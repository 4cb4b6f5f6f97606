import Postgres
import Sandbox
import SignInWithApple
import Telemetry
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct NotificationIntakeTests {
    @Test func nothingForgedIsStored() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let intake = NotificationIntake(stage.services())
            for forgery in Forgery.allCases {
                let told = try stage.told(about: anna.sub, forgery: forgery)
                switch try await intake.take(told) {
                case .refused: break
                // An unknown key may be Apple's newest, and a validly signed time in the future passes.
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

    /// Every series begins at zero, so that the first notification is an increase.
    ///
    /// Apple sends few, and a series that begins with its first count would show no increase.
    @Test func theFirstNotificationIsAnIncrease() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let (services, metrics) = (stage.services(), MetricsRegistry())
            let intake = NotificationIntake(
                pool: services.pool,
                apple: services.apple,
                logger: services.logger,
                factory: metrics
            )
            let series = ["stored", "duplicate", "not_now"].map { "apple_notifications_total{outcome=\"\($0)\"}" }
            let before = metrics.text()
            for name in series { #expect(before.contains("\(name) 0\n"), "\(before)") }
            #expect(try await intake.take(stage.told(about: anna.sub)) == .stored(events: 1))
            #expect(metrics.text().contains("\(series[0]) 1\n"))
        }
    }

    /// A failed commit must be reported, since Apple does not resend a notification that was answered with 200.
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
            // Fails at the commit, after every statement has succeeded.
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
            try await stage.work(services)
            #expect(try await stage.traces(of: anna) == .init())
            #expect(
                try await stage.outcomes() == ["account-deleted unknown_account", "other.brand-new unknown_type"]
            )
            // A stranger's sub is not stored.
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
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }
}
