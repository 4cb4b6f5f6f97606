import Postgres
import Testing

@testable import AccountLifecycle

/// Queries that read all accounts may take longer than a short statement, as they do with some millions of accounts.
@Suite(.timeLimit(.minutes(5))) struct AllAccountsTests {
    enum Question: CaseIterable {
        case relayAddressesCounted, relayAddressesListed, transferForeseen
        case transferExported, accountsCounted, accountsListed, partOfAddressSearched
    }

    @Test(arguments: Question.allCases)
    func isAnsweredHoweverLongThatTakes(_ question: Question) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "insert into auth.users (id, email) values (gen_random_uuid(), 'anna@privaterelay.appleid.com')"
            )
            let transfer = TeamTransfer(clientID: Stage.clientID, targetTeam: "RECIPIENT1")
            if question == .transferExported {
                try await stage.sql(
                    """
                    insert into accountctl.apple_transfers (user_id, client_id, target_team, transfer_identifier, state)
                    select id, \(Stage.clientID), 'RECIPIENT1', 'x', 'generated'
                    from auth.users
                    """
                )
            }
            let table: Statement = question == .transferExported ? "accountctl.apple_transfers" : "auth.users"
            let found = try await stage.withVeryManyAccounts(in: table) { pool -> Int in
                switch question {
                case .relayAddressesCounted:
                    return try await pool.withConnection { try RelayDirectory.counts(on: $0).count }
                case .relayAddressesListed:
                    return try await pool.withConnection { try RelayDirectory.entries(limit: 10, on: $0).count }
                case .transferForeseen:
                    return try await TransferBooks(pool: pool, transfer: transfer).foresee().done
                case .transferExported:
                    let lines = Counter()
                    try await TransferBooks(pool: pool, transfer: transfer).export { _ in lines.add() }
                    return lines.value
                case .accountsCounted:
                    return try await pool.withConnection { try AccountListing(.init()).count(on: $0) }
                case .accountsListed:
                    return try await pool.withConnection { connection in
                        var listed = 0
                        try AccountListing(.init()).forEach(on: connection) { _ in listed += 1 }
                        return listed
                    }
                case .partOfAddressSearched:
                    let term = try #require(LookupTerm("anna@private", as: .email, compared: .contains))
                    return try await pool.withConnection {
                        try AccountDirectory(hashKey: nil).find(term, on: $0).matches.count
                    }
                }
            }
            #expect(found == (question == .transferForeseen ? 0 : 1))
        }
    }
}
