import Foundation
import Postgres
import Sandbox
import SignInWithApple
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

    /// A person who unlinked Apple only loses the dead token when the grant later ends in Apple's settings.
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

    /// A dead token that is older than the last sign-in is only forgotten.
    ///
    /// The person returned with a new grant whose code we never received, so the older token proves nothing about it,
    /// whether the daily check or a device's report found it dead.
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

    /// A token of the team that the app left, which ends with the transfer and not by the person's wish, is only
    /// forgotten.
    @Test(arguments: [true, false], [("check", "grant_gone"), ("device", "state_revoked")])
    func aDeadTokenOfTheFormerTeamIsOnlyForgotten(_ isFormer: Bool, _ told: (String, String)) async throws {
        let (source, kind) = told
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            if isFormer { try await stage.makeFormer(anna) }
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            try await stage.sql(
                """
                insert into accountctl.credential_events (source, kind, client_id, user_id)
                values (\(source), \(kind), \(CredentialStage.clientID), \(anna.id))
                """
            )
            #expect(try await CredentialEvents(stage.services()).handleWaiting() == 1)
            var expected = CredentialStage.Traces(credentials: 0)
            if !isFormer { (expected.sessions, expected.refreshTokens, expected.mark) = (0, 0, "consent_revoked") }
            #expect(try await stage.traces(of: anna) == expected)
            #expect(try await stage.traces(of: ben) == .init())
        }
    }

    /// Apple may call a request invalid where client and token do not fit each other, which otherwise proves nothing.
    @Test(arguments: [true, false]) func anInvalidRequestEndsATokenOfTheFormerTeamAlone(_ isFormer: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            if isFormer { try await leaveTeam(of: anna, stage) }
            stage.sandbox.faults.set(.appleError("invalid_request"), for: .appleToken)
            let tally = try await CredentialChecks(stage.services()).sweep()
            #expect(tally.gone == (isFormer ? 1 : 0))
            #expect(tally.inconclusive == (isFormer ? 0 : 1))
            #expect(try await stage.traces(of: anna) == .init(credentials: isFormer ? 0 : 1))
        }
    }

    /// A token that Apple accepts is of the team with whose key Apple was asked, whatever was known of it.
    @Test(arguments: [nil, "FORMERTEAM"]) func anAnswerTellsTheTeamOfAToken(_ known: String?) async throws {
        try await CredentialStage.with { stage in
            _ = try await stage.signUp()
            try await stage.sql("update accountctl.apple_credentials set team_id = \(known)")
            #expect(try await CredentialChecks(stage.services()).sweep().live == 1)
            let team = try await stage.value("select team_id from accountctl.apple_credentials", as: String?.self)
            #expect(team == stage.sandbox.apple.teamID)
        }
    }

    /// Ends a grant at Apple, and handles the event by which the daily check or a device reports its end.
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

    /// Every outcome has a series from zero, since Prometheus sees no increase in one that begins with its first count.
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

    /// A credential that cannot be opened is named, and postponed alone, since it says nothing about others of its client
    /// id.
    @Test func oneThatCannotBeOpenedIsPutOffAlone() async throws {
        try await CredentialStage.with { stage in
            let broken = try await stage.signUp()
            _ = try await stage.signUp()
            _ = try await stage.signUp()
            try await stage.sql(
                "update accountctl.apple_credentials set sealed_token = 'x' where user_id = \(broken.id)"
            )
            let lines = LogLines()
            let tally = try await CredentialChecks(stage.services(logger: lines.logger)).sweep()
            #expect(tally.unreadable == 1)
            #expect(tally.live == 2)
            #expect(tally.postponed == 0)
            let id = try await stage.value(
                "select id from accountctl.apple_credentials where user_id = \(broken.id)",
                as: Int64.self
            )
            let named = lines.all.filter { $0.contains("cannot be opened credential=\(id) reason=") }
            #expect(named.count == 1, "\(lines.all)")
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

    /// Credentials that cannot be checked are postponed to the next day, except one of each client id.
    ///
    /// If all were due again within the hour, those of a single failing client id could fill every sweep.
    @Test(arguments: [true, false])
    func whomNobodyCanBeAskedAboutIsLeftToTheNextDay(_ isConfigured: Bool) async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<3 { _ = try await stage.signUp() }
            if isConfigured {
                stage.apple.pause(CredentialStage.clientID, until: Date() + 3600, refusal: "invalid_client")
            } else {
                try await stage.sql("update accountctl.apple_credentials set client_id = 'com.example.gone'")
            }
            #expect(try await CredentialChecks(stage.services()).sweep().postponed == 3)
            let left = try await stage.value(
                "select count(*) from accountctl.apple_credentials where check_after > now() + interval '23 hours'",
                as: Int.self
            )
            // One credential is due sooner, to test the client id.
            #expect(left == 2)
        }
    }

    @Test func nobodyIsAskedAboutBeforeAppleWantsToBeAsked() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<3 { _ = try await stage.signUp() }
            let next = [try await stage.signUp().id, try await stage.signUp(clientID: "com.example.web").id]
            try await stage.sql(
                "update accountctl.apple_credentials set check_after = now() + interval '9 minutes' where user_id = any(\(next))"
            )
            _ = stage.sandbox.faults.set(.status(429, retryAfter: "3600"), for: .appleToken)
            #expect(try await CredentialChecks(stage.services()).sweep().postponed == 3)
            let late = try await stage.value(
                """
                select bool_and((client_id = \(CredentialStage.clientID)) = (check_after > now() + interval '59 minutes'))
                from accountctl.apple_credentials
                """,
                as: Bool.self
            )
            #expect(late)
        }
    }

    @Test(arguments: [false, true])
    func whoComesBackWhileAppleIsAskedKeepsEverything(_ isOfFormerTeam: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            if isOfFormerTeam { try await leaveTeam(of: anna, stage) }
            let tally = try await sweep(stage, afterLeaving: anna) {
                // The code of a new sign-in was exchanged in the meantime.
                try await stage.sql("update accountctl.apple_credentials set sealed_token = 'of the new sign-in'")
            }
            #expect(tally.gone == 1)
            #expect(try await stage.outcomes() == [])
            #expect(try await stage.traces(of: anna) == .init())
        }
    }

    /// A token of the former team is only forgotten, but this one belongs to the deletion that began meanwhile.
    @Test func whoIsLockedOutWhileAppleIsAskedKeepsTheToken() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await leaveTeam(of: anna, stage)
            let tally = try await sweep(stage, afterLeaving: anna) { try await stage.lockOut(anna.id) }
            #expect(tally.gone == 1)
            #expect(try await stage.traces(of: anna).credentials == 1)
        }
    }

    /// Makes a person's token that of the team that the app left, while somebody else, who is not asked about now,
    /// holds one of the new team.
    private func leaveTeam(of person: CredentialStage.Person, _ stage: CredentialStage) async throws {
        try await stage.makeFormer(person)
        let other = try await stage.signUp()
        try await stage.sql(
            """
            update accountctl.apple_credentials
            set team_id = \(stage.sandbox.apple.teamID),
                check_after = now() + interval '1 hour'
            where user_id = \(other.id)
            """
        )
    }

    /// Sweeps once a person stopped using the app, and runs `act` before Apple answers.
    private func sweep(
        _ stage: CredentialStage,
        afterLeaving person: CredentialStage.Person,
        whileAppleIsAsked act: () async throws -> Void
    ) async throws -> CredentialChecks.Tally {
        stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
        let gate = FaultGate()
        stage.sandbox.faults.set(Fault.hold(at: gate).times(1), for: .appleToken)
        let services = stage.services()
        async let swept = CredentialChecks(services).sweep()
        await gate.reached()
        try await act()
        gate.open()
        return try await swept
    }
}
