import Foundation
import Postgres
import Sandbox
import Sealing
import Testing

@testable import AccountLifecycle

/// How often reports from devices cause calls to Apple.
@Suite(.timeLimit(.minutes(5))) struct DeviceReportPaceTests {
    /// An answer newer than a report serves that report as well, and the call counts as the check of the day.
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
            // One call is the exchange of the sign-up, and one the check of the credential.
            #expect(stage.sandbox.journal.count(.appleToken) == 2)
        }
    }

    /// Reports cause at most one check a day, however often devices send them; the daily check covers the rest.
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
            // After a refusal, a witness's credential is checked as well.
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

    /// A report that waits causes one call for each credential; here it waits for one that cannot be opened.
    @Test func aReportThatWaitsHasAppleAskedOnceAboutEachCredential() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            // No witness shows that the client id works.
            for person in [anna, ben] {
                stage.sandbox.apple.stopUsing(sub: person.sub, clientID: CredentialStage.clientID)
            }
            let foreign = try KeyRing([.named("k2")]).seal(
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
            // The refused credential, and its witness, which is refused as well.
            #expect(stage.sandbox.journal.count(.appleToken) - before == 2)
            #expect(try await stage.traces(of: anna) == .init(credentials: 2))
        }
    }

    /// Reports about one credential and about all of them share the daily limit of each credential.
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

    /// A refusal without a witness that shows the client id to work does not confirm or deny the report.
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
