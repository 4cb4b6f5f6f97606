import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The sending team's side, which gets a transfer identifier for each of its users.
struct SendingTeam: TransferSide {
    let client: AppleClient
    let transfer: TeamTransfer
    /// Users refused before this time are asked about again; nil for none.
    let retriedBefore: Date?

    var refusable: [TransferState] { [.refused] }

    /// Reads a page that holds all identities of each of its accounts.
    func page(after position: UUID?, rows: Int, on connection: isolated Connection) throws -> TransferPage {
        TransferPage(
            try connection.query(
                """
                select
                    i.user_id,
                    case
                        when i.provider = 'apple' and not exists (
                            select
                            from accountctl.apple_transfers as t
                            where t.user_id = i.user_id
                              and t.client_id = \(transfer.clientID)
                              and t.target_team = \(transfer.targetTeam)
                              and not (
                                  t.state = \(TransferState.refused.rawValue)
                                  and t.transfer_identifier is null
                                  and t.updated_at < coalesce(\(retriedBefore), '-infinity')
                              )
                        ) then i.provider_id
                    end
                from (
                    select user_id, provider, provider_id
                    from auth.identities
                    where \(TransferPage.follows(position))
                    order by user_id
                    fetch first (\(rows)) rows with ties
                ) as i
                order by i.user_id
                """,
                as: (UUID, String?).self
            )
        )
    }

    /// Users whom Apple has named before; if there are none, those whose credential of this client id was valid last.
    func witnesses(atMost count: Int, on connection: isolated Connection) throws -> [String] {
        try connection.query(
            """
            (
                select old_sub
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and transfer_identifier is not null
                  and old_sub is not null
                order by id desc
                limit \(count)
            )
            union all
            (
                select c.apple_sub
                from accountctl.apple_credentials as c
                where c.client_id = \(transfer.clientID)
                  and c.last_live_at is not null
                order by c.last_live_at desc
                limit \(count)
            )
            limit \(count)
            """,
            as: String.self
        )
    }

    func ask(_ subject: String, _ token: Secret<String>) async throws -> TransferOutcome<String> {
        try await client.transferIdentifier(ofSub: subject, targetTeam: transfer.targetTeam, token: token)
    }

    func record(_ answer: String, of user: UUID, subject: String, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, state)
            values (
                \(user), \(transfer.clientID), \(transfer.targetTeam), \(subject), \(answer),
                \(TransferState.generated.rawValue)
            )
            on conflict (user_id, client_id, target_team) do update
            set old_sub = excluded.old_sub,
                transfer_identifier = excluded.transfer_identifier,
                state = excluded.state,
                reason = null,
                updated_at = clock_timestamp()
            where apple_transfers.state = \(TransferState.refused.rawValue)
            """
        )
    }
}
