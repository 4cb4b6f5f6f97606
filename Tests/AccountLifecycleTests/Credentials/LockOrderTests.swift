import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Work on an account locks the account's row first; any other order could deadlock.
@Suite(.timeLimit(.minutes(5))) struct LockOrderTests {
    @Test func anEventMeetsALockOut() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await addEvent(about: anna, stage)
            let handling = try await beside(anna, stage, "delete from auth.sessions where user_id = \(anna.id)") {
                try await CredentialEvents(stage.services()).handleWaiting()
            }
            #expect(try await handling.value == 1)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
        }
    }

    /// Handling an event does not deadlock with the deletion of the account, which cascades to its events.
    @Test func anEventMeetsADelete() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await addEvent(about: anna, stage)
            let handling = try await beside(anna, stage, "delete from auth.users where id = \(anna.id)") {
                try await CredentialEvents(stage.services()).handleWaiting()
            }
            _ = try await handling.value
            #expect(try await stage.value("select count(*) from auth.users", as: Int.self) == 0)
        }
    }

    @Test func aTransferMeetsADelete() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let transfer = TeamTransfer(clientID: CredentialStage.clientID, targetTeam: "RECIPIENT1")
            try await stage.sql(
                """
                update auth.identities as i
                set identity_data = identity_data || jsonb_build_object('email', u.email)
                from auth.users as u
                where u.id = i.user_id
                """
            )
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state)
                values (
                    \(anna.id), \(transfer.clientID), \(transfer.targetTeam), 't', '003.new', 'new@privaterelay.appleid.com',
                    true, 'exchanged'
                )
                """
            )
            let applying = try await beside(anna, stage, "delete from auth.users where id = \(anna.id)") {
                try await TransferBooks(pool: stage.pool, transfer: transfer).apply()
            }
            // Nobody was moved, and nothing is for people to decide.
            let (run, unmoved) = try await applying.value
            #expect(run == .init() && unmoved.isEmpty)
            #expect(try await stage.value("select count(*) from auth.users", as: Int.self) == 0)
        }
    }

    /// Adds an event from Apple that has not been handled yet.
    private func addEvent(about person: CredentialStage.Person, _ stage: CredentialStage) async throws {
        try await stage.sql(
            """
            insert into accountctl.credential_events (source, kind, client_id, user_id, notification_id)
            values ('apple', 'consent-revoked', 'com.example.app', \(person.id), 'a')
            """
        )
    }

    /// Runs `work` while another session has locked the account's row, which then executes `onward` and commits.
    private func beside<Result: Sendable>(
        _ person: CredentialStage.Person,
        _ stage: CredentialStage,
        _ onward: Statement,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Task<Result, any Error> {
        try await stage.admin.withTransaction { connection in
            try connection.execute("select from auth.users where id = \(person.id) for update")
            let working = Task { try await work() }
            try await connection.waitUntilSomebodyIsBlocked()
            try connection.execute(onward)
            return working
        }
    }
}
