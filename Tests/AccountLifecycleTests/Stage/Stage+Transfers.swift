import AccountLifecycle
import Postgres

/// Transfers of an app to another team.
extension Stage {
    /// Records that Apple told the new team some hours ago who a person is there; the transfer is not applied yet.
    func move(
        _ person: Person,
        to newSub: String,
        of clientID: String = Self.clientID,
        hoursAgo: Int = 0
    ) async throws {
        try await sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state, updated_at)
            values (
                \(person.id), \(clientID), 'RECIPIENT1', \(person.sub), 'x', \(newSub), 'exchanged',
                now() - \(hoursAgo) * interval '1 hour'
            )
            """
        )
    }
}
