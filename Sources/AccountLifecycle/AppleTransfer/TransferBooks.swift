package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The database's side of a team transfer: its progress, the file between the teams, and the accounts' new identities.
package struct TransferBooks: Sendable {
    let pool: Pool
    let transfer: TeamTransfer
    /// How long an account's lock is waited for.
    var lockPatience = Duration.seconds(5)

    /// Creates the books of a transfer.
    package init(pool: Pool, transfer: TeamTransfer) {
        self.pool = pool
        self.transfer = transfer
    }

    /// The progress of the transfer.
    ///
    /// - Returns: Counts of accounts.
    /// - Throws: ``PostgresError``.
    package func status() async throws -> TeamTransfer.Status {
        let transfer = transfer
        let (unidentified, seen, counts) = try await pool.withConnection { connection in
            let unidentified = try Self.unidentified(transfer, on: connection)
            let seen = try connection.one(
                "select count(*) from accountctl.apple_identity_marks where state = 'transferred'",
                as: Int.self
            )
            let counts = try connection.query(
                """
                select state, count(*), count(transfer_identifier)
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                group by state
                """,
                as: (TransferState, Int, Int).self,
                deadline: .forAllAccounts
            )
            return (unidentified, seen, counts)
        }
        var status = TeamTransfer.Status()
        (status.waiting, status.newcomers) = unidentified
        status.seen = seen
        for (state, accounts, identified) in counts {
            switch state {
            case .generated: status.generated = accounts
            case .exchanged: status.exchanged = accounts
            case .applied: status.applied = accounts
            case .refused: (status.refused, status.refusedToRecipient) = (accounts, identified)
            case .conflict: status.conflict = accounts
            }
        }
        return status
    }

    /// How many accounts with an Apple identity have no transfer identifier.
    ///
    /// They are counted apart: those of the former team, as far as can be told, and newcomers.
    private static func unidentified(
        _ transfer: TeamTransfer,
        on connection: isolated Connection
    ) throws -> (waiting: Int, newcomers: Int) {
        let (waiting, newcomers) = try connection.one(
            """
            with known as (
                select distinct transfer_identifier
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and transfer_identifier is not null
            ),
            account as (
                select i.user_id, bool_and(\(isNew(transfer))) as is_new
                from auth.identities as i
                left join known as k
                    on k.transfer_identifier = i.identity_data -> 'custom_claims' ->> 'transfer_sub'
                where i.provider = 'apple'
                  and not exists (
                      select
                      from accountctl.apple_transfers as t
                      where t.user_id = i.user_id
                        and t.client_id = \(transfer.clientID)
                        and t.target_team = \(transfer.targetTeam)
                  )
                group by i.user_id
            )
            select count(*) filter (where not is_new), count(*) filter (where is_new)
            from account
            """,
            as: (Int, Int).self,
            deadline: .forAllAccounts
        )
        return (waiting, newcomers)
    }

    /// An SQL expression: whether the identity `i` certainly does not come from the former team for this app.
    ///
    /// It does not if its claims hold a transfer identifier `k` that was generated for the recipient, if its sub is one
    /// of the recipient's, or if it is younger than an exchange. An exchange comes after the transfer, and
    /// ``apply(progress:)`` leaves its time unchanged. This serves only to count, and keeps nobody from being asked
    /// about: an app may go to a team, come back, and go there again.
    private static func isNew(_ transfer: TeamTransfer) -> Statement {
        """
        coalesce(
            k.transfer_identifier is not null
            or exists (
                select
                from accountctl.apple_transfers as n
                where n.client_id = \(transfer.clientID)
                  and n.target_team = \(transfer.targetTeam)
                  and n.new_sub = i.provider_id
            )
            or i.created_at > (
                select min(told.updated_at)
                from accountctl.apple_transfers as told
                where told.client_id = \(transfer.clientID)
                  and told.target_team = \(transfer.targetTeam)
                  and told.new_sub is not null
            ),
            false
        )
        """
    }

    /// The teams to which the app moves, according to the recorded transfers.
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
                deadline: .forAllAccounts
            )
        }
    }

    /// Passes on the lines that the recipient needs, page by page, however long the recipient takes to read them.
    ///
    /// - Parameters:
    ///   - pageRows: How many lines one statement reads.
    ///   - line: Called with each account's line.
    /// - Throws: ``PostgresError``, and what `line` throws.
    package func export(pageRows: Int = 1000, _ line: (TeamTransfer.Line) throws -> Void) async throws {
        let transfer = transfer
        var last: Int64 = 0
        while true {
            let page = try await pool.withConnection { [last] connection in
                try connection.query(
                    """
                    select id, user_id, transfer_identifier
                    from accountctl.apple_transfers
                    where client_id = \(transfer.clientID)
                      and target_team = \(transfer.targetTeam)
                      and transfer_identifier is not null
                      and id > \(last)
                    order by id
                    limit \(pageRows)
                    """,
                    as: (Int64, UUID, String).self,
                    deadline: .forAllAccounts
                )
            }
            for (id, user, identifier) in page {
                try line(TeamTransfer.Line(user: user, transferIdentifier: identifier))
                last = id
            }
            if page.count < pageRows { return }
        }
    }
}
