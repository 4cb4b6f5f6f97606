package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The database's side of a team transfer: how far it is, the file between the teams, and giving accounts their new
/// identity.
package struct TransferBooks: Sendable {
    let pool: Pool
    let transfer: TeamTransfer
    /// How long counting may take: all accounts are counted.
    private static let patience = Duration.seconds(600)

    /// Opens the books of a transfer.
    package init(pool: Pool, transfer: TeamTransfer) {
        self.pool = pool
        self.transfer = transfer
    }

    /// How far the transfer is.
    ///
    /// - Returns: Counts of accounts.
    /// - Throws: ``PostgresError``.
    package func status() async throws -> TeamTransfer.Status {
        let transfer = transfer
        let (waiting, seen, counts) = try await pool.withConnection { connection in
            let waiting = try connection.one(
                """
                select count(distinct i.user_id)
                from auth.identities as i
                where i.provider = 'apple'
                  and not exists (
                      select
                      from accountctl.apple_transfers as t
                      where t.user_id = i.user_id
                        and t.client_id = \(transfer.clientID)
                        and t.target_team = \(transfer.targetTeam)
                  )
                """,
                as: Int.self,
                deadline: Self.patience
            )
            let seen = try connection.one(
                "select count(*) from accountctl.apple_identity_marks where state = 'transferred'",
                as: Int.self
            )
            let counts = try connection.query(
                """
                select state, count(*)
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                group by state
                """,
                as: (TransferState, Int).self,
                deadline: Self.patience
            )
            return (waiting, seen, Dictionary(counts) { first, _ in first })
        }
        var status = TeamTransfer.Status()
        status.waiting = waiting
        status.seen = seen
        status.generated = counts[.generated] ?? 0
        status.exchanged = counts[.exchanged] ?? 0
        status.applied = counts[.applied] ?? 0
        status.refused = counts[.refused] ?? 0
        status.conflict = counts[.conflict] ?? 0
        return status
    }

    /// The teams that the app goes to, as far as anything is recorded.
    ///
    /// - Throws: ``PostgresError``.
    package func recipients() async throws -> [String] {
        let transfer = transfer
        return try await pool.withConnection { connection in
            try connection.query(
                """
                select distinct target_team
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                order by target_team
                """,
                as: String.self,
                deadline: Self.patience
            )
        }
    }

    /// Reads out what the recipient needs, in no memory to speak of.
    ///
    /// - Parameter line: Told each account's line.
    /// - Throws: ``PostgresError``, and what `line` throws.
    package func export(_ line: @escaping @Sendable (TeamTransfer.Line) throws -> Void) async throws {
        let transfer = transfer
        try await pool.withConnection { connection in
            try connection.stream(
                """
                select user_id, transfer_identifier
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and transfer_identifier is not null
                order by id
                """,
                as: (UUID, String).self
            ) { user, identifier in
                try line(TeamTransfer.Line(user: user, transferIdentifier: identifier))
            }
        }
    }
}
