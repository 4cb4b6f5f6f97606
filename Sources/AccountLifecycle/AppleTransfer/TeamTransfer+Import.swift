package import Postgres

extension TeamTransfer {
    /// Imports what the sending team exported; accounts that are already known stay unchanged.
    ///
    /// - Returns: How many lines were new, and how many name accounts that this database does not have.
    /// - Throws: ``PostgresError``.
    package func importLines(_ lines: [Line], on connection: isolated Connection) throws -> (new: Int, unknown: Int) {
        var (new, unknown) = (0, 0)
        for start in stride(from: 0, to: lines.count, by: 1000) {
            let part = lines[start..<min(start + 1000, lines.count)]
            let found = try connection.one(
                """
                with line as (
                    select given.*, u.id is not null as is_known
                    from unnest(\(part.map(\.user))::uuid[], \(part.map(\.transferIdentifier))::text[])
                        with ordinality as given(user_id, identifier, number)
                    left join auth.users as u on u.id = given.user_id
                ),
                added as (
                    insert into accountctl.apple_transfers (user_id, client_id, target_team, transfer_identifier, state)
                    select user_id, \(clientID), \(targetTeam), identifier, \(TransferState.generated.rawValue)
                    from line
                    where is_known
                    order by number
                    on conflict (user_id, client_id, target_team) do nothing
                    returning 1
                )
                select
                    (select count(*) from added),
                    (select count(*) from line where not is_known)
                """,
                as: (Int, Int).self
            )
            new += found.0
            unknown += found.1
        }
        return (new, unknown)
    }
}
