import Foundation
import Postgres
import Sandbox
import Sealing
import Telemetry
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct CredentialChecksTests {
    private func makeAllDue(_ stage: CredentialStage) async throws {
        try await stage.sql("update accountctl.apple_credentials set check_after = now() - interval '1 minute'")
    }

    @Test func eachIsCheckedOnceADay() async throws {
        try await CredentialStage.with { stage in
            _ = try await stage.signUp()
            _ = try await stage.signUp()
            let checks = CredentialChecks(stage.services())
            var expected = CredentialChecks.Tally()
            expected.live = 2
            #expect(try await checks.sweep() == expected)
            #expect(try await checks.sweep() == .init())
            let spread = try await stage.value(
                """
                select bool_and(check_after between now() + interval '23 hours' and now() + interval '27 hours')
                from accountctl.apple_credentials
                """,
                as: Bool.self
            )
            #expect(spread)
        }
    }

    @Test func aLostNotificationIsMadeUpFor() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            _ = try await CredentialChecks(services).sweep()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            try await makeAllDue(stage)
            let tally = try await CredentialChecks(services).sweep()
            #expect(tally.gone == 1)
            #expect(tally.live == 1)
            #expect(try await CredentialEvents(services).handleWaiting() == 1)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "consent_revoked")
            )
            #expect(try await stage.traces(of: ben) == .init())
        }
    }

    /// Whoever unlinked Apple signs in without it: that its grant ends later, in Apple's settings, concerns nobody
    /// else.
    @Test(arguments: ["check", "device"])
    func whoeverUnlinkedAppleOnlyLosesTheDeadToken(_ source: String) async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            try await stage.sql("delete from auth.identities where user_id = \(anna.id)")
            try await endGrant(of: anna, toldBy: source, stage)
            #expect(try await stage.outcomes() == [source == "check" ? "grant_gone done" : "state_revoked done"])
            #expect(try await stage.traces(of: anna) == .init(credentials: 0))
            #expect(try await stage.traces(of: ben) == .init())
        }
    }

    /// Somebody came back with a grant of which we hold no code: that an older token is dead shows nothing, whoever had
    /// Apple asked.
    @Test(arguments: ["check", "device"])
    func aDeadTokenOfBeforeTheLastSignInIsOnlyForgotten(_ source: String) async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            try await stage.sql("update accountctl.apple_credentials set obtained_at = now() - interval '3 hours'")
            try await endGrant(of: anna, toldBy: source, stage)
            #expect(try await stage.traces(of: anna) == .init(credentials: 0))
            #expect(try await stage.traces(of: ben) == .init())
        }
    }

    /// Ends a grant at Apple, and handles that the daily check finds it gone or that a device tells.
    private func endGrant(
        of person: CredentialStage.Person,
        toldBy source: String,
        _ stage: CredentialStage
    ) async throws {
        let services = stage.services()
        stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
        if source == "check" {
            #expect(try await CredentialChecks(services).sweep().gone == 1)
        } else {
            try await stage.sql(
                """
                insert into accountctl.credential_events (source, kind, user_id)
                values ('device', 'state_revoked', \(person.id))
                """
            )
        }
        #expect(try await CredentialEvents(services).handleWaiting() == 1)
    }

    /// Prometheus sees no increase in a series that begins with its first count.
    @Test func everyOutcomeIsCountedFromNone() async throws {
        try await CredentialStage.with { stage in
            let metrics = MetricsRegistry()
            func count(_ outcome: String) -> Bool? {
                let series = "apple_credential_checks_total{outcome=\"\(outcome)\"} "
                return metrics.text().split(separator: "\n").first { $0.hasPrefix(series) }.map { !$0.hasSuffix(" 0") }
            }
            let checks = CredentialChecks(stage.services(), factory: metrics)
            for outcome in ["live", "gone", "inconclusive", "held_back", "unreadable", "postponed"] {
                #expect(count(outcome) == false, "\(outcome)")
            }
            _ = try await stage.signUp()
            _ = try await checks.sweep()
            #expect(count("live") == true && count("held_back") == false)
        }
    }

    /// When every credential of a client id is refused, the client id is the suspect.
    @Test func refusalsOfAllProveNothing() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            for person in people {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.inconclusive == 2)
            for person in people { #expect(try await stage.traces(of: person) == .init()) }
            #expect(try await stage.outcomes() == [])
        }
    }

    /// What lived yesterday shows nothing about a client id that has stopped working since.
    @Test func yesterdaysAnswerProvesNothingToday() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let checks = CredentialChecks(stage.services())
            #expect(try await checks.sweep().live == 2)
            for person in [anna, ben] {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            try await stage.sql(
                "update accountctl.apple_credentials set check_after = now() - interval '1 minute' where user_id = \(anna.id)"
            )
            #expect(try await checks.sweep().inconclusive == 1)
            #expect(try await stage.outcomes() == [])
        }
    }

    /// Where nobody else is due, somebody else is asked; that was their check of the day.
    @Test func anotherPersonIsTheWitness() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            try await stage.sql(
                "update accountctl.apple_credentials set check_after = now() + interval '1 hour' where user_id = \(ben.id)"
            )
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == 1)
            #expect(tally.live == 0)
            let isPutOff = try await stage.value(
                """
                select check_after > now() + interval '23 hours' and last_live_at is not null
                from accountctl.apple_credentials
                where user_id = \(ben.id)
                """,
                as: Bool.self
            )
            #expect(isPutOff)
        }
    }

    /// Part of a client id's users are refused at once: something is wrong, and nobody is signed out for it.
    @Test func aMassOfRefusalsIsHeldBack() async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<12 { people.append(try await stage.signUp()) }
            for person in people.prefix(6) {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.heldBack == 6)
            #expect(tally.live == 6)
            #expect(tally.gone == 0)
            #expect(try await stage.outcomes() == [])
            for person in people { #expect(try await stage.traces(of: person) == .init()) }
        }
    }

    @Test func theBrakeKnowsPeopleWhoLeaveFromAMass() {
        func holds(_ refused: Int, of answered: Int, today: Int = 0, held: Int = 1000) -> Bool {
            RefusalBrake(refused: refused, answered: answered, goneToday: today, held: held).holds
        }
        #expect(!holds(1, of: 1))
        #expect(!holds(4, of: 5))
        #expect(holds(5, of: 10))
        #expect(!holds(20, of: 200))
        #expect(holds(21, of: 200))
        #expect(!holds(1, of: 100, today: 49))
        #expect(holds(1, of: 100, today: 50))
        #expect(!holds(1, of: 1, today: 19, held: 20))
        #expect(holds(1, of: 1, today: 20, held: 20))
        #expect(!holds(1, of: 100, today: 4999, held: 100_000))
    }

    /// One row that cannot be opened says nothing about the others of its client id.
    @Test func oneThatCannotBeOpenedIsPutOffAlone() async throws {
        try await CredentialStage.with { stage in
            let broken = try await stage.signUp()
            _ = try await stage.signUp()
            _ = try await stage.signUp()
            try await stage.sql(
                "update accountctl.apple_credentials set sealed_token = 'x' where user_id = \(broken.id)"
            )
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.unreadable == 1)
            #expect(tally.live == 2)
            #expect(tally.postponed == 0)
        }
    }

    @Test func theOnlyCredentialIsJudgedBySelfTest() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            #expect(try await CredentialChecks(stage.services()).sweep().gone == 1)
        }
    }

    @Test func whenAppleRejectsUsNobodyIsTouchedAndTheRestWaits() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp(), try await stage.signUp()]
            _ = stage.sandbox.faults.set(.appleError("invalid_client"), for: .appleToken)
            let before = stage.sandbox.journal.entries.count
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.postponed == 3)
            #expect(stage.sandbox.journal.entries.count == before + 1)
            for person in people { #expect(try await stage.traces(of: person) == .init()) }
            let soon = try await stage.value(
                "select bool_and(check_after < now() + interval '2 hours') from accountctl.apple_credentials",
                as: Bool.self
            )
            #expect(soon)
        }
    }

    @Test func nobodyIsAskedAboutBeforeAppleWantsToBeAsked() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<3 { _ = try await stage.signUp() }
            _ = stage.sandbox.faults.set(.status(429, retryAfter: "3600"), for: .appleToken)
            #expect(try await CredentialChecks(stage.services()).sweep().postponed == 3)
            let late = try await stage.value(
                "select bool_and(check_after > now() + interval '59 minutes') from accountctl.apple_credentials",
                as: Bool.self
            )
            #expect(late)
        }
    }

    @Test func whoComesBackWhileAppleIsAskedKeepsEverything() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            let gate = FaultGate()
            stage.sandbox.faults.set(Fault.hold(at: gate).times(1), for: .appleToken)
            let services = stage.services()
            async let swept = CredentialChecks(services).sweep()
            await gate.reached()
            // A new sign-in's code was exchanged meanwhile.
            try await stage.sql("update accountctl.apple_credentials set sealed_token = 'of the new sign-in'")
            gate.open()
            let tally = try await swept
            #expect(tally.gone == 1)
            #expect(try await stage.outcomes() == [])
            #expect(try await stage.traces(of: anna) == .init())
        }
    }

    @Test func aDeviceIsConfirmedByApple() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let eve = try await stage.signUp(credential: false)
            let services = stage.services()
            _ = try await CredentialChecks(services).sweep()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            for person in [anna, ben, eve] {
                try await stage.sql(
                    """
                    insert into accountctl.credential_events (source, kind, client_id, user_id)
                    values ('device', 'state_revoked', null, \(person.id)), ('device', 'state_not_found', null, \(person.id))
                    """
                )
            }
            #expect(try await CredentialEvents(services).handleWaiting() == 6)
            #expect(
                try await stage.outcomes() == [
                    "state_revoked done", "state_not_found device_only", "state_revoked not_confirmed",
                    "state_not_found device_only", "state_revoked nothing_held", "state_not_found device_only",
                ]
            )
            #expect(try await stage.traces(of: anna).sessions == 0)
            #expect(try await stage.traces(of: ben) == .init())
        }
    }

    @Test func whileAppleIsDownTheDevicesReportWaits() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                "insert into accountctl.credential_events (source, kind, user_id) values ('device', 'state_revoked', \(anna.id))"
            )
            _ = stage.sandbox.faults.set(.html(), for: .appleToken)
            let events = CredentialEvents(stage.services())
            #expect(try await events.handleWaiting() == 0)
            #expect(try await stage.outcomes() == ["state_revoked waiting"])
            // It steps back, and asks again when its time comes.
            let calls = stage.sandbox.journal.count(.appleToken)
            #expect(try await events.handleWaiting() == 0)
            #expect(stage.sandbox.journal.count(.appleToken) == calls)
            stage.sandbox.faults.clearAll()
            try await stage.sql("update accountctl.credential_events set next_try_at = now()")
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.outcomes() == ["state_revoked not_confirmed"])
        }
    }

    /// Reports that nobody can confirm do not keep newer ones from being handled, and end after a day.
    @Test func reportsThatCannotBeConfirmedStandInNobodysWay() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            // Of an app that was taken out of the settings.
            try await stage.sql(
                "update accountctl.apple_credentials set client_id = 'com.example.gone' where user_id = \(anna.id)"
            )
            try await stage.sql(
                """
                insert into accountctl.credential_events (source, kind, user_id, received_at, next_try_at)
                select 'device', 'state_revoked', \(anna.id), now() - interval '2 hours', now() - interval '2 hours'
                from generate_series(1, 510)
                """
            )
            try await stage.sql(
                "insert into accountctl.credential_events (source, kind, user_id) values ('device', 'state_not_found', \(ben.id))"
            )
            let events = CredentialEvents(stage.services())
            // However many wait, one sweep comes to the last, unless its time is over: then the next one goes on.
            #expect(try await events.handleWaiting(for: .zero) == 0)
            let tried: Statement = "select count(*) from accountctl.credential_events where tries > 0"
            #expect(try await stage.value(tried, as: Int.self) == 1)
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.outcomes().last == "state_not_found device_only")
            try await stage.sql(
                """
                update accountctl.credential_events
                set received_at = now() - interval '25 hours', next_try_at = now()
                where id = (select min(id) from accountctl.credential_events)
                """
            )
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.outcomes().first == "state_revoked not_confirmable")
        }
    }

    /// A table of the app may refer to sessions and keep one from being ended: that event waits, and the others do not.
    @Test func whatTheDatabaseRefusesStandsInNobodysWay() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            // Somebody shows that the client id works.
            _ = try await stage.signUp()
            let services = stage.services()
            try await stage.refuse("auth.sessions", "delete", of: people[0])
            for person in people {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
                try await stage.sql(
                    "insert into accountctl.credential_events (source, kind, user_id) values ('device', 'state_revoked', \(person.id))"
                )
            }
            let events = CredentialEvents(services)
            #expect(try await events.handleWaiting() == 1)
            let outcomes = try await stage.outcomes()
            #expect(outcomes == ["state_revoked waiting", "state_revoked done"])
            #expect(try await stage.traces(of: people[0]) == .init())
            #expect(try await stage.traces(of: people[1]).sessions == 0)
            // It steps back, and is not given up: nobody but us can end the sessions.
            #expect(try await events.handleWaiting() == 0)
            try await stage.sql("drop trigger refuse on auth.sessions")
            try await stage.sql(
                "update accountctl.credential_events set next_try_at = now(), received_at = now() - interval '25 hours'"
            )
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.traces(of: people[0]).sessions == 0)
        }
    }

    /// An answer that is newer than the report serves; a question is the check of the day.
    @Test func aReportDoesNotHaveAppleAskedTwice() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            for _ in 0..<3 {
                try await stage.sql(
                    """
                    insert into accountctl.credential_events (source, kind, user_id, happened_at)
                    values ('device', 'state_revoked', \(anna.id), now() - interval '1 minute')
                    """
                )
            }
            #expect(try await CredentialEvents(services).handleWaiting() == 3)
            #expect(try await CredentialChecks(services).sweep() == .init())
            // The exchange of the sign-up, and one question.
            #expect(stage.sandbox.journal.count(.appleToken) == 2)
        }
    }

    /// However often a device says something else: the daily check finds out.
    @Test(arguments: [Set([.signOut, .markIdentity]), nil] as [Set<CredentialReaction>?])
    func reportsHaveAppleAskedOnceADay(_ whenGone: Set<CredentialReaction>?) async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            var policy = CredentialPolicy()
            if let whenGone {
                policy.grantGone = whenGone
                stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            }
            let services = stage.services(policy)
            let first = whenGone == nil ? "state_revoked not_confirmed" : "state_revoked done"
            func report(_ client: String?) async throws -> (outcome: String?, asked: Int) {
                let before = stage.sandbox.journal.count(.appleToken)
                try await stage.sql(
                    """
                    insert into accountctl.credential_events (source, kind, user_id, client_id)
                    values ('device', 'state_revoked', \(anna.id), \(client))
                    """
                )
                #expect(try await CredentialEvents(services).handleWaiting() == 1)
                return (try await stage.outcomes().last, stage.sandbox.journal.count(.appleToken) - before)
            }
            // A refusal has a witness asked, too.
            #expect(try await report(nil) == (first, whenGone == nil ? 1 : 2))
            let due: Statement = "select max(check_after) from accountctl.apple_credentials where user_id = \(anna.id)"
            let check = try await stage.value(due, as: Date.self)
            for client in [nil, CredentialStage.clientID, nil] {
                #expect(try await report(client) == ("state_revoked not_confirmable", 0))
            }
            #expect(try await stage.value(due, as: Date.self) == check)
            #expect(try await stage.traces(of: ben) == .init())
            try await stage.sql(
                """
                update accountctl.apple_credentials
                set report_answered_at = report_answered_at - interval '25 hours'
                """
            )
            #expect(try await report(CredentialStage.clientID).asked > 0)
        }
    }

    /// It waits for the other one, which cannot be opened here.
    @Test func aReportThatWaitsHasAppleAskedOnceAboutEachCredential() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            // Nobody shows that the client id works.
            for person in [anna, ben] {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let foreign = try KeyRing([CredentialStage.key("k2")]).seal(
                Secret("token"),
                for: SealingContext(purpose: "apple-refresh-token", ids: [anna.text, "com.example.web"])
            )
            try await stage.sql(
                """
                insert into accountctl.apple_credentials
                    (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (\(anna.id), 'com.example.web', \(anna.sub), \(foreign.text), \(foreign.keyID.text))
                """
            )
            try await stage.sql(
                "insert into accountctl.credential_events (source, kind, user_id) values ('device', 'state_revoked', \(anna.id))"
            )
            let before = stage.sandbox.journal.count(.appleToken)
            let events = CredentialEvents(stage.services())
            for _ in 0..<3 {
                #expect(try await events.handleWaiting() == 0)
                try await stage.sql("update accountctl.credential_events set next_try_at = now()")
            }
            // The witness that a refusal calls for is refused, too.
            #expect(stage.sandbox.journal.count(.appleToken) - before == 2)
            #expect(try await stage.traces(of: anna) == .init(credentials: 2))
        }
    }

    /// What one report had asked, another does not, whichever of the credentials they speak of.
    @Test func reportsAboutOneCredentialAndAboutAllAreOfTheSameDay() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let web = try stage.sandbox.apple.signIn(clientID: "com.example.web", hidesEmail: true)
            try await stage.hold(web.authorizationCode, of: anna, clientID: "com.example.web")
            let events = CredentialEvents(stage.services())
            var asked: [Int] = []
            for client in [CredentialStage.clientID, nil, "com.example.web"] {
                let before = stage.sandbox.journal.count(.appleToken)
                try await stage.sql(
                    """
                    insert into accountctl.credential_events (source, kind, user_id, client_id)
                    values ('device', 'state_revoked', \(anna.id), \(client))
                    """
                )
                #expect(try await events.handleWaiting() == 1)
                asked.append(stage.sandbox.journal.count(.appleToken) - before)
            }
            #expect(asked == [1, 1, 0])
        }
    }

    /// Nobody else shows that the client id works.
    @Test func aRefusalThatShowsNothingIsNoWordThatTheGrantLives() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            for person in people {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            try await stage.sql(
                "insert into accountctl.credential_events (source, kind, user_id) values ('device', 'state_revoked', \(people[0].id))"
            )
            #expect(try await CredentialEvents(stage.services()).handleWaiting() == 1)
            #expect(try await stage.outcomes() == ["state_revoked not_confirmable"])
            #expect(try await stage.traces(of: people[0]) == .init())
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct CredentialVaultTests {
    @Test func rotationMovesEverythingWhileItStaysUsable() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<3 { _ = try await stage.signUp() }
            let binding = UUID()
            let pending = stage.keys.seal(
                Secret("pending"),
                for: PendingRevocation.context(binding: binding, clientID: CredentialStage.clientID)
            )
            let subjectContext = PendingRevocation.subjectContext(binding: binding, clientID: CredentialStage.clientID)
            let subject = stage.keys.seal(Secret("001.sub"), for: subjectContext)
            try await stage.sql(
                """
                insert into accountctl.pending_revocations
                    (client_id, sealed_token, sealed_subject, sealing_key_id, binding, give_up_at)
                values (
                    \(CredentialStage.clientID), \(pending.text), \(subject.text), 'k1', \(binding), now() + interval '1 day'
                )
                """
            )
            let second = try CredentialStage.key("k2")
            let both = try KeyRing([stage.key, second])
            let vault = CredentialVault(pool: stage.pool, keys: both)
            #expect(
                try await vault.status().map { "\($0.key) \($0.credentials) \($0.pendingRevocations)" } == [
                    "k1 3 1", "k2 0 0",
                ]
            )

            var told = 0
            let rotation = try await vault.rotate { _ in told += 1 }
            #expect(rotation == .init(moved: 4, failed: 0))
            #expect(told == 2)
            #expect(try await vault.rotate() == .init())
            let sealed: Statement = "select sealed_subject from accountctl.pending_revocations"
            let moved = try await stage.value(sealed, as: String.self)
            #expect(try KeyRing([second]).openText(moved, for: subjectContext).reveal() == "001.sub")
            #expect(
                try await vault.status().map { "\($0.key) \($0.credentials) \($0.pendingRevocations)" } == [
                    "k1 0 0", "k2 3 1",
                ]
            )
            #expect(try await CredentialChecks(stage.services(keys: both)).sweep().live == 3)
        }
    }

    @Test func aMissingKeyIsNamedAndNothingIsLost() async throws {
        try await CredentialStage.with { stage in
            _ = try await stage.signUp()
            let other = try KeyRing([CredentialStage.key("k2")])
            let vault = CredentialVault(pool: stage.pool, keys: other)
            let status = try await vault.status()
            #expect(status.map(\.key) == ["k1", "k2"])
            #expect(status.map(\.isMissing) == [true, false])
            #expect(try await vault.rotate() == .init(moved: 0, failed: 1))
            #expect(try await CredentialChecks(stage.services(keys: other)).sweep().unreadable == 1)
            #expect(try await stage.value("select count(*) from accountctl.apple_credentials", as: Int.self) == 1)
        }
    }

    @Test func anotherKeyOfTheSameNameIsNoticedBeforeItSeals() async throws {
        try await CredentialStage.with { stage in
            let first = CredentialVault(pool: stage.pool, keys: stage.keys)
            // Looking leaves nothing behind.
            _ = try await first.status()
            #expect(try await stage.value("select count(*) from accountctl.sealing_canaries", as: Int.self) == 0)
            try await first.recordKeys()
            #expect(try await first.status().filter(\.isAnother) == [])
            let imposter = try KeyRing([CredentialStage.key("k1"), CredentialStage.key("k9")])
            let vault = CredentialVault(pool: stage.pool, keys: imposter)
            #expect(try await vault.status().filter(\.isAnother).map(\.key) == ["k1"])
            // Nothing was learned from a ring that is wrong.
            #expect(try await stage.value("select count(*) from accountctl.sealing_canaries", as: Int.self) == 1)
        }
    }
}
