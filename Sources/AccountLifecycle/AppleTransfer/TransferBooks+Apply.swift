package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension TransferBooks {
    /// How many accounts in a row are passed; if there are more, none can be changed, or something holds all of them
    /// locked.
    private static let passedAtMost = 20

    /// A condition: rows that are to be applied, including conflicts, which are tried again.
    static let awaitsApplying: Statement = """
        state in (\(TransferState.exchanged.rawValue), \(TransferState.conflict.rawValue))
        """

    /// A query of the subs that transfers will give an account.
    ///
    /// Apple uses these as soon as the recipient's key is configured, while the identities keep the old subs until the
    /// transfer is applied. A sub is one person's in one team, of whose clients the run names only one.
    static func comingSubs(of user: Statement) -> Statement {
        """
        select t.new_sub
        from accountctl.apple_transfers as t
        where t.user_id = \(user)
          and t.\(awaitsApplying)
        """
    }

    /// A condition: whether the transfer `t` of an account concerns its token of a client id, issued for an Apple sub.
    ///
    /// A Services ID moves with its app, and the sub with both, also where the run named the app alone.
    static func concerns(clientID: Statement, sub: Statement) -> Statement {
        "(t.client_id = \(clientID) or \(sub) in (t.old_sub, t.new_sub))"
    }

    /// A condition: whether the transfer `t` may move the identity `i`.
    ///
    /// An account may have identities of several teams. The importing side does not know the old sub.
    static let moves: Statement = """
        i.user_id = t.user_id
        and i.provider = 'apple'
        and i.provider_id = coalesce(t.old_sub, i.provider_id)
        and i.provider_id <> t.new_sub
        """

    /// An account that the database refused to change, or that another session held locked.
    package struct Unmoved: Sendable {
        /// The account.
        package let user: UUID
        /// The refusal.
        package let error: PostgresError
    }

    /// Gives every exchanged account its new identity, in one transaction each; accounts in conflict are tried again.
    ///
    /// An account that another session holds locked, such as its deletion, or that the database refuses to change, such
    /// as by a trigger, is passed, and tried once more at the end. The run stops if too many in a row are passed.
    ///
    /// In any case the rows keep their `updated_at`: it says when Apple was asked, by which newcomers are recognized.
    ///
    /// - Parameter progress: Called after each account with the number of accounts processed.
    /// - Returns: What was done, and the accounts that could not be changed in the end, or before the run stopped.
    /// - Throws: ``PostgresError``, unless it concerns one account; `CancellationError`.
    package func apply(
        progress: @Sendable (Int) -> Void = { _ in }
    ) async throws -> (run: TeamTransfer.Run, unmoved: [Unmoved]) {
        let transfer = transfer
        var run = TeamTransfer.Run()
        var passed: [(id: Int64, account: Unmoved)] = []
        var passedInARow = 0
        var last: Int64 = 0
        while true {
            let page = try await pool.withConnection { [last] connection in
                try connection.query(
                    """
                    select id, user_id
                    from accountctl.apple_transfers
                    where client_id = \(transfer.clientID)
                      and target_team = \(transfer.targetTeam)
                      and \(Self.awaitsApplying)
                      and id > \(last)
                    order by id
                    limit 500
                    """,
                    as: (Int64, UUID).self
                )
            }
            if page.isEmpty { break }
            for (id, user) in page {
                last = id
                guard let error = try await move(id, &run, progress) else {
                    passedInARow = 0
                    continue
                }
                passedInARow += 1
                passed.append((id, Unmoved(user: user, error: error)))
                if passedInARow > Self.passedAtMost {
                    run.stoppedBy = "more than \(Self.passedAtMost) in a row"
                    return (run, passed.map(\.account))
                }
            }
        }
        var unmoved: [Unmoved] = []
        for (id, account) in passed {
            guard let error = try await move(id, &run, progress) else { continue }
            unmoved.append(Unmoved(user: account.user, error: error))
        }
        return (run, unmoved)
    }

    /// - Returns: Why the account could not be changed; nil if it was moved, is in conflict, or is not due any more.
    private func move(
        _ id: Int64,
        _ run: inout TeamTransfer.Run,
        _ progress: (Int) -> Void
    ) async throws -> PostgresError? {
        try Task.checkCancellation()
        do {
            switch try await applyOne(id) {
            case .moved: run.done += 1
            case .conflict: run.conflicts += 1
            case .notDue: break
            }
        } catch let error as PostgresError where error.isRefusal {
            return error
        }
        progress(run.done + run.conflicts)
        return nil
    }

    /// What became of an account.
    private enum Outcome: Sendable {
        case moved
        /// Another account has the new sub or address, or it is unknown which identity to move.
        case conflict(reason: String)
        /// It was erased meanwhile, or another run has moved it.
        case notDue
    }

    private func applyOne(_ id: Int64) async throws -> Outcome {
        let patience = lockPatience
        let outcome: Outcome
        do {
            outcome = try await pool.withTransaction { connection in
                try DeletionDesk.limitLockWaits(to: patience, on: connection)
                return try Self.apply(id, on: connection)
            }
        } catch let error as PostgresError where error.sqlState == .uniqueViolation {
            // The person signed in to the new team before being moved and so has a second account: a person must
            // decide.
            outcome = .conflict(reason: error.diagnostics?.constraint ?? Conflict.Reason.secondAccount.rawValue)
        }
        guard case .conflict(let reason) = outcome else { return outcome }
        let recorded = try await pool.withConnection { connection in
            try connection.execute(
                """
                update accountctl.apple_transfers
                set state = \(TransferState.conflict.rawValue),
                    reason = \(reason)
                where id = \(id)
                  and \(Self.awaitsApplying)
                """
            )
        }
        return recorded > 0 ? outcome : .notDue
    }

    private static func apply(_ id: Int64, on connection: isolated Connection) throws -> Outcome {
        // The account's row is locked first, in the common lock order.
        try connection.execute(
            """
            select
            from auth.users
            where id = (select user_id from accountctl.apple_transfers where id = \(id))
            for no key update
            """
        )
        let found = try connection.first(
            """
            select user_id, new_sub, new_email, is_private_email
            from accountctl.apple_transfers
            where id = \(id)
              and \(Self.awaitsApplying)
            for update
            """,
            as: (UUID, String, String?, Bool?).self
        )
        guard let (user, sub, email, isPrivate) = found else { return .notDue }
        let candidates = try connection.query(
            """
            select i.provider_id, i.email
            from accountctl.apple_transfers as t
            join auth.identities as i on \(moves)
            where t.id = \(id)
            for update of i
            """,
            as: (String, String?).self
        )
        guard candidates.count <= 1 else { return .conflict(reason: Conflict.Reason.severalIdentities.rawValue) }
        if let (oldSub, oldEmail) = candidates.first {
            let move = IdentityMove(
                user: user,
                oldSub: oldSub,
                oldEmail: oldEmail,
                sub: sub,
                email: email,
                isPrivate: isPrivate
            )
            try move.carryOut(on: connection)
        }
        try connection.execute(
            """
            update accountctl.apple_transfers
            set state = \(TransferState.applied.rawValue),
                -- The app may have stored the old sub, and nothing else here keeps it.
                old_sub = coalesce(old_sub, \(candidates.first?.0)),
                reason = null
            where id = \(id)
            """
        )
        return .moved
    }
}
