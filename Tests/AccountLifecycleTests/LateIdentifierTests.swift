import AccountLifecycle
import Foundation
import Postgres
import Sealing
import Testing

/// What an account is recognised by may change until its row goes: a team's transfer, Apple's word of a relay address,
/// or support.
@Suite(.timeLimit(.minutes(5))) struct LateIdentifierTests {
    @Test func anAddressThatATransferGaveSinceTheLockOutIsSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let new = "new@privaterelay.appleid.com"
            try await stage.sql("create table public.letters (old text, new text)")
            try await stage.sql("insert into public.letters values (\(person.email), \(new))")
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let team = CredentialStage.recipient
            let transfer = TeamTransfer(clientID: Stage.clientID, targetTeam: team)
            try await stage.sql(
                """
                insert into accountctl.apple_transfers (
                    user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state
                )
                values (
                    \(person.id), \(Stage.clientID), \(team), 't', '003.new', \(new), true, 'exchanged'
                )
                """
            )
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).apply().done == 1)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let found = try await stage.situation(request)?.findings?.map(\.column)
            #expect(found == ["public.letters.new", "public.letters.old"])
        }
    }

    /// What was lost with the key is not known again: what the account shows by now is not all of it.
    @Test func whatWasGivenUpWithItsKeyStaysGivenUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
            let other = try KeyRing([SealingKey.random(id: try #require(KeyID("other")))])
            let strange = stage.services(vault: IdentifierVault(keys: other, hashKey: stage.vault.hashKey))
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.proceed(
                    request,
                    withoutApple: false,
                    withoutIdentifiers: true,
                    reason: "lost",
                    on: connection
                )
            }
            #expect(try await DeletionDriver(strange).drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
        }
    }

    /// It could not add to what it cannot open, and would leave the account's last address behind unsought.
    @Test func aWorkerWithoutTheKeyLeavesTheAccount() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
            let other = try KeyRing([SealingKey.random(id: try #require(KeyID("other")))])
            let strange = stage.services(vault: IdentifierVault(keys: other, hashKey: stage.vault.hashKey))
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "ok")
        }
    }
}
