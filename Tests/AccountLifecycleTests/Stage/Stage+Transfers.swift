import AccountLifecycle
import Postgres

/// Transfers of the app to another team.
extension Stage {
    /// Records that Apple told the new team some hours ago who a person is there.
    func move(_ person: Person, to sub: String, hoursAgo: Int = 0) async throws {
        try await sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, transfer_identifier, new_sub, state, updated_at)
            values (
                \(person.id), \(Self.clientID), 'RECIPIENT1', 'x', \(sub), 'applied', now() - \(hoursAgo) * interval '1 hour'
            )
            """
        )
    }
}
