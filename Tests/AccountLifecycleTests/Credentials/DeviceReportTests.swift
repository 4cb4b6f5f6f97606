import Foundation
import Postgres
import Sandbox
import Testing

@testable import AccountLifecycle

/// A device's report about a credential signs nobody out until Apple confirms it.
@Suite(.timeLimit(.minutes(5))) struct DeviceReportTests {
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

    /// A mark that Apple's event set prevails over a device's report, which anyone with a token of the account can
    /// send.
    ///
    /// The person signed in an hour ago, before the mark was set.
    @Test(arguments: [("consent_revoked", "10 minutes"), ("account_deleted", "10 minutes")])
    func whatAppleSaidOfTheIdentityStandsAgainstADevice(_ mark: String, _ age: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.mark(anna, mark, age: age)
            #expect(try await stage.markReported(as: "transferred", by: anna) == mark)
            #expect(try await stage.outcomes() == ["state_transferred noted"])
        }
    }

    @Test func aTransferIsNotedWhereAppleSaidNothingThatStillHolds() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben, cleo) = (try await stage.signUp(), try await stage.signUp(), try await stage.signUp())
            // The sign-in an hour ago is newer than this mark.
            try await stage.mark(ben, "consent_revoked", age: "2 hours")
            try await stage.mark(cleo, "transferred", age: "10 minutes")
            let before = try await stage.value("select max(since) from accountctl.apple_identity_marks", as: Date.self)
            for person in [anna, ben, cleo] {
                #expect(try await stage.markReported(as: "transferred", by: person) == "transferred")
            }
            let after = try await stage.value("select min(since) from accountctl.apple_identity_marks", as: Date.self)
            #expect(after > before)
            // Moves the marks a minute back, so that Apple's event is newer: its times are in whole seconds.
            try await stage.sql("update accountctl.apple_identity_marks set since = since - interval '1 minute'")
            let told = try stage.told(.consentRevoked, about: anna.sub)
            #expect(try await NotificationIntake(stage.services()).take(told) == .stored(events: 1))
            try await stage.work(stage.services())
            #expect(try await stage.traces(of: anna).mark == "consent_revoked")
        }
    }

    /// A device reports the move until the person signs in to the new team, also after it was applied.
    @Test func aTransferThatWasAppliedIsNotNotedAgain() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.move(anna)
            #expect(try await stage.markReported(as: "transferred", by: anna) == nil)
            // A Services ID moves with its app, which alone the transfer names.
            let web = "com.example.web"
            try await stage.holdBesides(web, of: anna)
            #expect(try await stage.markReported(as: "transferred", by: anna, of: web) == nil)
            // The app moves on to a third team.
            try await stage.sql(
                """
                insert into accountctl.apple_transfers (user_id, client_id, target_team, transfer_identifier, state)
                values (\(anna.id), \(CredentialStage.clientID), 'THIRDTEAM1', 'x', 'generated')
                """
            )
            #expect(try await stage.markReported(as: "transferred", by: anna) == "transferred")
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
            // The report backs off, and causes no call until its next attempt is due.
            let calls = stage.sandbox.journal.count(.appleToken)
            #expect(try await events.handleWaiting() == 0)
            #expect(stage.sandbox.journal.count(.appleToken) == calls)
            stage.sandbox.faults.clearAll()
            try await stage.sql("update accountctl.credential_events set next_try_at = now()")
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.outcomes() == ["state_revoked not_confirmed"])
        }
    }

    /// Reports that cannot be confirmed do not block newer ones, and are given up after a day.
    @Test func reportsThatCannotBeConfirmedStandInNobodysWay() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            // The credential of an app that was removed from the configuration.
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
            // One sweep reaches the last report, however many wait; if its time runs out, the next sweep continues
            // there.
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

    /// An event that the database refuses waits without blocking others.
    ///
    /// A table of the app may have a foreign key to sessions that prevents one from being deleted.
    @Test func whatTheDatabaseRefusesStandsInNobodysWay() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            // A third person is the witness that the client id works.
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
            // The event backs off and is not given up, even after a day, since nothing else would end the sessions.
            #expect(try await events.handleWaiting() == 0)
            try await stage.sql("drop trigger refuse on auth.sessions")
            try await stage.sql(
                "update accountctl.credential_events set next_try_at = now(), received_at = now() - interval '25 hours'"
            )
            #expect(try await events.handleWaiting() == 1)
            #expect(try await stage.traces(of: people[0]).sessions == 0)
        }
    }
}

extension CredentialStage {
    /// Marks a person's identity with a state that was recorded `age` ago.
    fileprivate func mark(_ person: Person, _ state: String, age: String) async throws {
        try await sql(
            """
            insert into accountctl.apple_identity_marks (user_id, state, since)
            values (\(person.id), \(state), now() - \(age)::text::interval)
            """
        )
    }

    /// The mark of a person's identity after a device's report has been handled.
    fileprivate func markReported(
        as state: String,
        by person: Person,
        of clientID: String? = nil
    ) async throws -> String? {
        try await sql(
            """
            insert into accountctl.credential_events (source, kind, client_id, user_id)
            values ('device', 'state_' || \(state)::text, \(clientID), \(person.id))
            """
        )
        _ = try await CredentialEvents(services()).handleWaiting()
        return try await traces(of: person).mark
    }
}
