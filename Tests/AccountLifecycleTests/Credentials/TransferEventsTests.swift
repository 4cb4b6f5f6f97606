import Foundation
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Events from Apple about the new team's subs before the transfer is applied.
@Suite(.timeLimit(.minutes(5))) struct TransferEventsTests {
    private static let newSub = "001.of-the-new-team"

    private func exchange(_ person: CredentialStage.Person, _ state: String, _ stage: CredentialStage) async throws {
        try await stage.sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, new_email, is_private_email, state)
            values (
                \(person.id), \(CredentialStage.clientID), \(CredentialStage.recipient), \(person.sub), 'x',
                \(Self.newSub), 'new@privaterelay.appleid.com', true, \(state)
            )
            """
        )
    }

    @Test(arguments: ["exchanged", "conflict"]) func anEventAboutTheNewSubIsTheAccounts(_ state: String) async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            try await exchange(anna, state, stage)
            let off = try stage.told(.emailDisabled, about: Self.newSub) {
                ($0.email, $0.isPrivateEmail) = ("new@privaterelay.appleid.com", true)
            }
            _ = try await NotificationIntake(services).take(off)
            #expect(try await stage.forwarding(of: anna) == ["new@privaterelay.appleid.com off"])
            // The forwarding state of the new address is kept when the transfer replaces the old address.
            let transfer = TeamTransfer(clientID: CredentialStage.clientID, targetTeam: CredentialStage.recipient)
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).apply().run.done == 1)
            #expect(try await stage.forwarding(of: anna) == ["new@privaterelay.appleid.com off"])
            #expect(try await stage.traces(of: ben) == .init())
            #expect(try await stage.outcomes() == ["email-disabled forwarding"])
        }
    }

    /// The run names one client of the team, such as the app without its Services ID.
    @Test(arguments: [CredentialStage.clientID, "com.example.web"])
    func itIsAboutTheIdentityThatMoves(_ audience: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            try await exchange(anna, "exchanged", stage)
            let told = try stage.told(about: Self.newSub) { $0.audience = audience }
            _ = try await NotificationIntake(services).take(told)
            let isKnown = try await stage.value(
                """
                select exists (
                    select
                    from accountctl.credential_events as e
                    join auth.identities as i on i.id = e.identity_id and i.provider_id = \(anna.sub)
                )
                """,
                as: Bool.self
            )
            #expect(isKnown)
            var registry = JobRegistry()
            try CredentialJobs.register(in: &registry, services: services)
            try await registry.work(in: stage.pool)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            // The credential is of the app, and is asked about if the event is of another client.
            let left = audience == CredentialStage.clientID ? 0 : 1
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: left, mark: "consent_revoked")
            )
        }
    }

    /// If it is unknown which of two Apple identities moves, one of them counts as another way to sign in.
    @Test func anAccountWithTwoAppleIdentitiesIsNotAskedToGo() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: false)
            let services = stage.services()
            try await exchange(anna, "conflict", stage)
            try await stage.sql("update accountctl.apple_transfers set old_sub = null")
            try await stage.link("002.of-another-team", to: anna)
            let told = try stage.told(.init(rawValue: "account-deleted"), about: Self.newSub)
            _ = try await NotificationIntake(services).take(told)
            var registry = JobRegistry()
            try CredentialJobs.register(in: &registry, services: services)
            try await registry.work(in: stage.pool)
            #expect(try await stage.outcomes() == ["account-deleted other_sign_in"])
            #expect(try await stage.traces(of: anna).deletions == 0)
        }
    }
}
