import Foundation
import JobQueue
import Postgres
import Sandbox
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

/// Events from Apple about a locked-out account, whose erasure may still be cancelled.
@Suite(.timeLimit(.minutes(5))) struct LockedOutEventsTests {
    private func take(
        _ event: String,
        about person: CredentialStage.Person,
        _ stage: CredentialStage,
        _ services: CredentialServices
    ) async throws {
        let told = try stage.told(.init(rawValue: event), about: person.sub) {
            if event.hasPrefix("email") { ($0.email, $0.isPrivateEmail) = ("x@privaterelay.appleid.com", true) }
        }
        #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
        var registry = JobRegistry()
        try CredentialJobs.register(in: &registry, services: services)
        try await registry.work(in: stage.pool)
    }

    private func cancel(_ person: CredentialStage.Person, _ stage: CredentialStage) async throws -> DeletionDesk.Act {
        let desk = DeletionDesk(Operator(name: "test", hashKey: HashKey(stage.key)))
        return try await stage.admin.withConnection { connection in
            let request = try #require(try DeletionDesk.openRequest(of: person.id, on: connection))
            return try await desk.cancel(request, reason: "wrong account", on: connection)
        }
    }

    /// An event waits while the account is locked out, and takes effect if the request is cancelled.
    ///
    /// Apple does not report again that the Apple Account is gone, or that forwarding is off.
    @Test func itWaitsForACancelAndActsThen() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            try await stage.lockOut(anna.id)
            try await take("account-deleted", about: anna, stage, services)
            try await take("email-disabled", about: anna, stage, services)
            #expect(try await stage.outcomes() == ["account-deleted waiting", "email-disabled forwarding"])
            #expect(try await stage.forwarding(of: anna) == ["x@privaterelay.appleid.com off"])
            #expect(try await stage.traces(of: anna) == .init(deletions: 1))

            // At the next attempt the event still waits, and blocks no other.
            try await stage.sql("update accountctl.credential_events set next_try_at = now()")
            #expect(try await CredentialEvents(services).handleWaiting() == 0)
            #expect(try await stage.outcomes().first == "account-deleted waiting")

            #expect(try await cancel(anna, stage) == .done)
            #expect(try await CredentialEvents(services).handleWaiting() == 1)
            #expect(try await stage.outcomes().first == "account-deleted done")
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 2)
            )
        }
    }

    /// An event during a step that can still be undone is not taken for an echo, since the request may be cancelled.
    @Test func aStepThatMayBeTakenBackMakesNoEcho() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            try await stage.lockOut(anna.id)
            try await stage.beginAtApple(for: anna.id)
            try await take("account-deleted", about: anna, stage, services)
            #expect(try await stage.outcomes() == ["account-deleted waiting"])
            try await stage.sql("delete from accountctl.deletion_steps")
            #expect(try await cancel(anna, stage) == .done)
            #expect(try await CredentialEvents(services).handleWaiting() == 1)
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }

    /// An event about an account that is being deleted does not wait for its row locks, and is deleted with the
    /// account.
    @Test func itGoesWithAnAccountThatGoes() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            try await stage.lockOut(anna.id)
            for person in [anna, ben] { try await take("account-deleted", about: person, stage, services) }
            #expect(try await stage.outcomes() == ["account-deleted waiting", "account-deleted done"])
            try await stage.beginAtApple(for: anna.id)
            try await stage.sql("update accountctl.deletion_steps set facts = '{}'")
            try await stage.sql("update accountctl.credential_events set next_try_at = now()")
            try await stage.pool.withTransaction { delete in
                try delete.execute("select from auth.users where id = \(anna.id) for update")
                // Waiting for the row lock would end in an error.
                #expect(try await CredentialEvents(services).handleWaiting() == 0)
            }
            try await stage.sql("delete from auth.users where id = \(anna.id)")
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }
}
