import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The receiving team's side, which asks Apple who each user is in its own team.
struct ReceivingTeam: TransferSide {
    let client: AppleClient
    let transfer: TeamTransfer
    /// Users refused before this time are asked about again; nil for none.
    let retriedBefore: Date?

    var refusable: [TransferState] { [.generated, .refused] }

    func page(after position: UUID?, rows: Int, on connection: isolated Connection) throws -> TransferPage {
        TransferPage(
            try connection.query(
                """
                select
                    user_id,
                    case
                        when state = \(TransferState.generated.rawValue)
                            or state = \(TransferState.refused.rawValue)
                            and updated_at < coalesce(\(retriedBefore), '-infinity')
                            then transfer_identifier
                    end
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and \(TransferPage.follows(position))
                order by user_id
                limit \(rows)
                """,
                as: (UUID, String?).self
            )
        )
    }

    func witnesses(atMost count: Int, on connection: isolated Connection) throws -> [String] {
        try connection.query(
            """
            select transfer_identifier
            from accountctl.apple_transfers
            where client_id = \(transfer.clientID)
              and target_team = \(transfer.targetTeam)
              and transfer_identifier is not null
              and new_sub is not null
            order by id desc
            limit \(count)
            """,
            as: String.self
        )
    }

    func ask(_ subject: String, _ token: Secret<String>) async throws -> TransferOutcome<TransferredUser> {
        try await client.exchange(transferIdentifier: subject, token: token)
    }

    func record(
        _ answer: TransferredUser,
        of user: UUID,
        subject: String,
        on connection: isolated Connection
    ) throws -> Int {
        try connection.execute(
            """
            update accountctl.apple_transfers
            set state = \(TransferState.exchanged.rawValue),
                new_sub = \(answer.sub),
                new_email = \(answer.email),
                is_private_email = \(answer.isPrivateEmail),
                reason = null,
                updated_at = clock_timestamp()
            where user_id = \(user)
              and client_id = \(transfer.clientID)
              and target_team = \(transfer.targetTeam)
              and state = any(\(refusable.map(\.rawValue)))
            """
        )
    }
}
