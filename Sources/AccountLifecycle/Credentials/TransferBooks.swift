package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The database's side of a team transfer: how far it is, the file between the teams, and giving accounts their new identity.
package struct TransferBooks: Sendable {
    private let pool: Pool
    private let transfer: TeamTransfer

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
        let (waiting, counts) = try await pool.withConnection { connection in
            let waiting = try connection.one(
                """
                select count(*)
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
                as: (String, Int).self
            )
            return (waiting, Dictionary(counts) { first, _ in first })
        }
        var status = TeamTransfer.Status()
        status.waiting = waiting
        status.generated = counts["generated"] ?? 0
        status.exchanged = counts["exchanged"] ?? 0
        status.applied = counts["applied"] ?? 0
        status.refused = counts["refused"] ?? 0
        status.conflict = counts["conflict"] ?? 0
        return status
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

    /// Takes in what the sending team read out.
    ///
    /// - Parameter lines: The lines; a line of an account that is known already changes nothing.
    /// - Returns: How many were new, and how many name accounts that this database does not have.
    /// - Throws: ``PostgresError``; nothing is kept then.
    package func importLines(_ lines: [TeamTransfer.Line]) async throws -> (new: Int, unknown: Int) {
        let transfer = transfer
        return try await pool.withTransaction { connection in
            var new = 0
            var unknown = 0
            for line in lines {
                let isKnown = try connection.one(
                    "select exists (select from auth.users where id = \(line.user))",
                    as: Bool.self
                )
                guard isKnown else {
                    unknown += 1
                    continue
                }
                new += try connection.execute(
                    """
                    insert into accountctl.apple_transfers
                        (user_id, client_id, target_team, transfer_identifier, state)
                    values (
                        \(line.user), \(transfer.clientID), \(transfer.targetTeam), \(line.transferIdentifier), 'generated'
                    )
                    on conflict (user_id, client_id, target_team) do nothing
                    """
                )
            }
            return (new, unknown)
        }
    }

    /// Gives every exchanged account its new identity, one transaction each.
    ///
    /// - Parameter progress: Told after each account how many are dealt with.
    /// - Returns: What was done.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func apply(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let transfer = transfer
        var run = TeamTransfer.Run()
        while true {
            let ids = try await pool.withConnection { connection in
                try connection.query(
                    """
                    select id
                    from accountctl.apple_transfers
                    where client_id = \(transfer.clientID)
                      and target_team = \(transfer.targetTeam)
                      and state = 'exchanged'
                    order by id
                    limit 500
                    """,
                    as: Int64.self
                )
            }
            if ids.isEmpty { return run }
            for id in ids {
                try Task.checkCancellation()
                if try await applyOne(id) { run.done += 1 } else { run.conflicts += 1 }
                progress(run.done + run.conflicts)
            }
        }
    }

    /// - Returns: False when somebody else has the new sub or address.
    private func applyOne(_ id: Int64) async throws -> Bool {
        do {
            try await pool.withTransaction { try Self.apply(id, on: $0) }
            return true
        } catch let error as PostgresError where error.sqlState == .uniqueViolation {
            // The person signed in to the new team before being moved, and has a second account by now: a person must decide.
            _ = try await pool.withConnection { connection in
                try connection.execute(
                    """
                    update accountctl.apple_transfers
                    set state = 'conflict',
                        reason = \(error.diagnostics?.constraint),
                        updated_at = clock_timestamp()
                    where id = \(id)
                      and state = 'exchanged'
                    """
                )
            }
            return false
        }
    }

    private static func apply(_ id: Int64, on connection: isolated Connection) throws {
        let found = try connection.first(
            """
            select user_id, new_sub, new_email, is_private_email
            from accountctl.apple_transfers
            where id = \(id)
              and state = 'exchanged'
            for update
            """,
            as: (UUID, String, String?, Bool?).self
        )
        guard let (user, sub, email, isPrivate) = found else { return }
        // One Apple identity per account is the rule; the imported side does not know the old sub, so that is not asked for.
        let old = try connection.first(
            """
            select provider_id, email
            from auth.identities
            where user_id = \(user)
              and provider = 'apple'
            order by created_at
            limit 1
            for update
            """,
            as: (String, String?).self
        )
        if let (oldSub, oldEmail) = old {
            try connection.execute(
                """
                update auth.identities
                set provider_id = \(sub),
                    identity_data = identity_data
                        || jsonb_build_object('sub', \(sub)::text)
                        || case
                            when identity_data ? 'provider_id' then jsonb_build_object('provider_id', \(sub)::text)
                            else '{}'
                        end
                        || case
                            when \(email)::text is null then '{}'
                            else jsonb_build_object('email', \(email)::text)
                        end,
                    updated_at = now()
                where user_id = \(user)
                  and provider = 'apple'
                  and provider_id = \(oldSub)
                """
            )
            if let email, let oldEmail {
                // Only where the account's address is the relay address that stops working.
                try connection.execute(
                    """
                    update auth.users
                    set email = \(email),
                        updated_at = now()
                    where id = \(user)
                      and lower(email) = \(oldEmail)
                    """
                )
            }
            try connection.execute(
                "update accountctl.apple_credentials set apple_sub = \(sub) where user_id = \(user) and apple_sub = \(oldSub)"
            )
            try connection.execute(
                "delete from accountctl.apple_identity_marks where user_id = \(user) and state = 'transferred'"
            )
            if let email { try moveRelayAddress(of: user, from: oldEmail, to: email, isPrivate, on: connection) }
        }
        try connection.execute(
            """
            update accountctl.apple_transfers
            set state = 'applied',
                updated_at = clock_timestamp()
            where id = \(id)
            """
        )
    }

    /// The relay address that an event told of stops working with the old team; nothing is known of the new one's forwarding.
    private static func moveRelayAddress(
        of user: UUID,
        from old: String?,
        to new: String,
        _ isPrivate: Bool?,
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            update accountctl.relay_addresses
            set address = lower(\(new)),
                apple_claim = \(isPrivate),
                forwarding = 'unknown',
                forwarding_changed_at = null
            where user_id = \(user)
              and address = coalesce(\(old), address)
            """
        )
    }
}
