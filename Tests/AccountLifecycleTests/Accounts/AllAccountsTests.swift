import Postgres
import Testing

@testable import AccountLifecycle

/// Queries that read all accounts may take longer than a short statement, as they do with some millions of accounts.
@Suite(.timeLimit(.minutes(5))) struct AllAccountsTests {
    enum Question: CaseIterable {
        case relayAddressesCounted, relayAddressesListed, transferForeseen
    }

    @Test(arguments: Question.allCases)
    func isAnsweredHoweverLongThatTakes(_ question: Question) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "insert into auth.users (id, email) values (gen_random_uuid(), 'anna@privaterelay.appleid.com')"
            )
            let found = try await stage.withVeryManyAccounts { pool -> Int in
                switch question {
                case .relayAddressesCounted:
                    return try await pool.withConnection { try RelayDirectory.counts(on: $0).count }
                case .relayAddressesListed:
                    return try await pool.withConnection { try RelayDirectory.entries(limit: 10, on: $0).count }
                case .transferForeseen:
                    let transfer = TeamTransfer(clientID: Stage.clientID, targetTeam: "RECIPIENT1")
                    return try await TransferBooks(pool: pool, transfer: transfer).foresee().done
                }
            }
            #expect(found == (question == .transferForeseen ? 0 : 1))
        }
    }
}
