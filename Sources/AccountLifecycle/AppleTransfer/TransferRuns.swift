package import Postgres
package import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The calls to Apple of a team transfer: one user at a time, at a bounded rate, each result recorded before the next
/// call.
///
/// Stopping is always possible: what is recorded is not asked again.
package struct TransferRuns: Sendable {
    private static let batch = 200
    /// So many whom Apple named before are asked about at most before many refusals are a fault of the request.
    private static let witnesses = 3

    let pool: Pool
    let client: AppleClient
    let transfer: TeamTransfer
    let pause: Duration
    let retriesRefused: Bool

    /// Prepares runs.
    ///
    /// - Parameters:
    ///   - pool: The database.
    ///   - client: The client of the side that runs: the sender's to generate, the recipient's to exchange.
    ///   - transfer: Which app goes where.
    ///   - callsPerSecond: At most so many calls; Apple publishes no limit for this endpoint.
    ///   - retriesRefused: Whether users whom Apple refused in an earlier run are asked about again.
    package init(
        pool: Pool,
        client: AppleClient,
        transfer: TeamTransfer,
        callsPerSecond: Double = 10,
        retriesRefused: Bool = false
    ) {
        self.pool = pool
        self.client = client
        self.transfer = transfer
        self.retriesRefused = retriesRefused
        pause = .seconds(1 / max(0.1, min(callsPerSecond, 1000)))
    }

    /// Gets a transfer identifier for every account that has none; the sending team's side.
    ///
    /// - Parameter progress: Told after each user how many are dealt with.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func generate(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let (transfer, client) = (transfer, client)
        let retriedBefore = try await retriedBefore()
        // Each run begins elsewhere: users of other teams' apps, whom Apple refuses one after the other, do not keep it
        // from the rest.
        let start = UUID()
        return try await run(progress: progress, replacing: ["refused"]) { known, connection in
            for start in [start, nil] {
                let users = try connection.query(
                    """
                    select i.user_id, i.provider_id
                    from auth.identities as i
                    where i.provider = 'apple'
                      and i.user_id >= coalesce(\(start), '00000000-0000-0000-0000-000000000000')
                      and i.provider_id <> all (\(known))
                      and not exists (
                          select
                          from accountctl.apple_transfers as t
                          where t.user_id = i.user_id
                            and t.client_id = \(transfer.clientID)
                            and t.target_team = \(transfer.targetTeam)
                            and not (
                                t.state = 'refused'
                                and t.transfer_identifier is null
                                and t.updated_at < coalesce(\(retriedBefore), '-infinity')
                            )
                      )
                    order by i.user_id
                    limit \(Self.batch)
                    """,
                    as: (UUID, String).self
                )
                if !users.isEmpty { return users }
            }
            return []
        } witnesses: { connection in
            // Whom Apple has named before; as long as there is nobody, whose credential of this client id lived last.
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
                    limit \(Self.witnesses)
                )
                union all
                (
                    select c.apple_sub
                    from accountctl.apple_credentials as c
                    where c.client_id = \(transfer.clientID)
                      and c.last_live_at is not null
                    order by c.last_live_at desc
                    limit \(Self.witnesses)
                )
                limit \(Self.witnesses)
                """,
                as: String.self
            )
        } ask: { sub, token in
            try await client.transferIdentifier(ofSub: sub, targetTeam: transfer.targetTeam, token: token)
        } record: { user, sub, identifier, connection in
            try connection.execute(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, old_sub, transfer_identifier, state)
                values (\(user), \(transfer.clientID), \(transfer.targetTeam), \(sub), \(identifier), 'generated')
                on conflict (user_id, client_id, target_team) do update
                set old_sub = excluded.old_sub,
                    transfer_identifier = excluded.transfer_identifier,
                    state = 'generated',
                    reason = null,
                    updated_at = clock_timestamp()
                where apple_transfers.state = 'refused'
                """
            )
        }
    }

    /// Asks who each user is in the recipient team; the recipient's side.
    ///
    /// - Parameter progress: Told after each user how many are dealt with.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func exchange(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let (transfer, client) = (transfer, client)
        let retriedBefore = try await retriedBefore()
        return try await run(progress: progress, replacing: ["generated", "refused"]) { known, connection in
            try connection.query(
                """
                select user_id, transfer_identifier
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and transfer_identifier is not null
                  and transfer_identifier <> all (\(known))
                  and (
                      state = 'generated'
                      or (state = 'refused' and updated_at < coalesce(\(retriedBefore), '-infinity'))
                  )
                order by id
                limit \(Self.batch)
                """,
                as: (UUID, String).self
            )
        } witnesses: { connection in
            try connection.query(
                """
                select transfer_identifier
                from accountctl.apple_transfers
                where client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and transfer_identifier is not null
                  and new_sub is not null
                order by id desc
                limit \(Self.witnesses)
                """,
                as: String.self
            )
        } ask: { identifier, token in
            try await client.exchange(transferIdentifier: identifier, token: token)
        } record: { user, _, moved, connection in
            try connection.execute(
                """
                update accountctl.apple_transfers
                set state = 'exchanged',
                    new_sub = \(moved.sub),
                    new_email = \(moved.email),
                    is_private_email = \(moved.isPrivateEmail),
                    reason = null,
                    updated_at = clock_timestamp()
                where user_id = \(user)
                  and client_id = \(transfer.clientID)
                  and target_team = \(transfer.targetTeam)
                  and state in ('generated', 'refused')
                """
            )
        }
    }

    /// Users refused before this moment are asked about again; nil where none is to be.
    private func retriedBefore() async throws -> Date? {
        guard retriesRefused else { return nil }
        return try await pool.withConnection { try $0.one("select clock_timestamp()", as: Date.self) }
    }
}
