import AccountLifecycle
import Postgres

/// Transfers of an app to another team.
extension Stage {
    /// Records that Apple told the new team who a person is there; the transfer is not applied yet.
    func move(_ person: Person, to newSub: String, of clientID: String = Self.clientID) async throws {
        try await sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state)
            values (\(person.id), \(clientID), 'RECIPIENT1', \(person.sub), 'x', \(newSub), 'exchanged')
            """
        )
    }

    /// Makes all tokens, those of erased accounts as well, those of a team that the app left.
    func makeTokensFormer() async throws {
        for table in ["apple_credentials", "pending_revocations"] {
            try await sql("update accountctl.\(unsafeSQL: table) set team_id = 'FORMERTEAM'")
        }
    }
}
