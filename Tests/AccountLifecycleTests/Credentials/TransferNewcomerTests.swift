import Postgres
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct TransferNewcomerTests {
    /// A person who signed up between the exchange and its application is a newcomer, whatever applying resulted in.
    @Test func whoCameAfterTheExchangeIsANewcomerWhateverApplyingCameTo() async throws {
        try await CredentialStage.with { stage in
            let moved = try await stage.signUp(credential: false)
            let other = try await stage.signUp(credential: false)
            let late = try await stage.signUp(credential: false)
            try await stage.sql(
                """
                update auth.identities
                set created_at = now() - interval '30 minutes'
                where user_id = \(late.id)
                """
            )
            // Exchanged an hour ago for a sub that already has a separate account.
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, state, updated_at)
                values (
                    \(moved.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), 't-1', \(other.sub),
                    'exchanged', now() - interval '1 hour'
                )
                """
            )
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            var expected = TeamTransfer.Status()
            (expected.newcomers, expected.exchanged) = (2, 1)
            #expect(try await books.status() == expected)

            #expect(try await books.apply().run.conflicts == 1)
            (expected.exchanged, expected.conflict) = (0, 1)
            #expect(try await books.status() == expected)

            // The other account then appears to belong to the former team.
            try await stage.sql("update auth.identities set provider_id = '003.other' where user_id = \(other.id)")
            #expect(try await books.apply().run.done == 1)
            (expected.waiting, expected.newcomers, expected.conflict, expected.applied) = (1, 1, 0, 1)
            #expect(try await books.status() == expected)
        }
    }
}
