package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The acts of operators on deletion requests, each recorded in the operators' log.
package struct DeletionDesk: Sendable {
    let actor: Operator
    /// How long an act waits for steps in progress.
    let patience: Duration
    /// Whether Supabase's tables are written; otherwise an act only shows what it would do.
    let writes: Bool
    var operatorName: String { actor.name }

    package init(_ actor: Operator, patience: Duration = .seconds(10), writes: Bool = true) {
        self.actor = actor
        self.patience = patience
        self.writes = writes
    }

    /// The result of an act on a request.
    package enum Act: Sendable, Hashable {
        case done
        /// The request was already in that state.
        case unchanged
        /// The request has had no fault; it waits for this moment.
        case waiting(DeletionState, until: Date)
        case unknownRequest
        /// The request has ended.
        case ended(DeletionState)
        /// Too late, or not yet.
        case refused(DeletionRefusal)
    }

    /// Cancels a request; once the account is locked out, only if nothing irreversible has begun, and the lock-out is
    /// undone.
    package func cancel(_ request: UUID, reason: String?, on connection: isolated Connection) async throws -> Act {
        try await act(on: request, "deletion.cancel", reason: reason, connection) { connection, user in
            let isLockedOut = try Self.isLockedOut(request, on: connection)
            // The function takes a stronger lock on the request than we do, so it must not be called where the
            // account's row is locked next.
            guard isLockedOut else {
                try connection.execute("select accountctl.cancel_deletion_request(\(request))")
                return .done
            }
            let begun = try connection.first(
                """
                select s.step
                from accountctl.deletion_requests as r
                join accountctl.deletion_steps as s on s.request_id = r.id
                where r.id = \(request) and \(DeletionBrakes.isStepBegunForGood)
                order by s.started_at
                limit 1
                """,
                as: DeletionStep.self
            )
            // Nothing more can be done for an account that is gone while another has its id: cancelling is the only way
            // to end this.
            let isOther = try connection.one(
                "select \(DeletionBrakes.isOtherAccount) from accountctl.deletion_requests as r where r.id = \(request)",
                as: Bool.self
            )
            if let begun, !isOther { return .refused(.begun(step: begun)) }
            if !isOther, writes { try LockOutBan.takeBack(of: request, on: connection) }
            // A call queued for Apple finds the request ended when its turn comes.
            try DeletionJournal(request: request, fence: nil).withdraw(.revokeApple, on: connection)
            try connection.execute(
                """
                update accountctl.deletion_requests
                set state = 'cancelled', finished_at = clock_timestamp(), situation = null, situation_since = null,
                    sealed_identifiers = null, sealing_key_id = null, reason = null
                where id = \(request)
                """
            )
            // Events from Apple that arrived meanwhile have waited for this.
            try CredentialEventRows.wake(user, on: connection)
            return .done
        }
    }

    /// Whether the account of a request was locked out, which cancelling undoes.
    ///
    /// - Throws: `PostgresError`.
    package static func isLockedOut(_ request: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.first(
            "select locked_out_at is not null from accountctl.deletion_requests where id = \(request)",
            as: Bool.self
        ) ?? false
    }

    /// Makes a request run again now, unless it only waits for its time.
    package func retry(_ request: UUID, reason: String? = nil, on connection: isolated Connection) async throws -> Act {
        try await act(on: request, "deletion.retry", reason: reason, connection) { connection, _ in
            if let (state, until) = try Self.wait(of: request, on: connection) { return .waiting(state, until: until) }
            try connection.execute(
                """
                update accountctl.deletion_requests
                set failures = 0, apple_failures = 0
                where id = \(request)
                """
            )
            try DeletionJobs.wake(request, on: connection)
            return .done
        }
    }

    /// The state and the time for which a request without a fault waits; nil if it has had a fault, or is due.
    private static func wait(of request: UUID, on connection: isolated Connection) throws -> (DeletionState, Date)? {
        try connection.first(
            """
            select w.state, w.until
            from (
                select state, case when state = 'settling' then settle_after else run_after end as until
                from accountctl.deletion_requests
                where id = \(request)
                  and state in ('requested', 'grace', 'settling')
                  and situation is null
                  and failures = 0
                  and apple_failures = 0
            ) as w
            where w.until > clock_timestamp()
            """,
            as: (DeletionState, Date).self
        )
    }

    /// Stops one request before its next irreversible step; if it is already paused, another reason is logged as well.
    package func pause(_ request: UUID, reason: String?, on connection: isolated Connection) async throws -> Act {
        try await act(on: request, "deletion.pause", reason: reason, connection) { connection, _ in
            let paused = try connection.execute(
                """
                update accountctl.deletion_requests
                set paused_at = clock_timestamp()
                where id = \(request) and paused_at is null
                """
            )
            if paused > 0 { return .done }
            let told = try StandingBrakes.read(of: request, on: connection).own?.reason
            return reason == nil || reason == told ? .unchanged : .done
        }
    }

    /// Lets a paused request continue, unless its pause is one that the operator was not asked about.
    package func resume(
        _ request: UUID,
        reason: String? = nil,
        unless isOther: @escaping @Sendable (StandingBrakes.Pause) -> Bool = { _ in false },
        on connection: isolated Connection
    ) async throws -> Act {
        try await act(on: request, "deletion.resume", reason: reason, connection) { connection, _ in
            if let pause = try StandingBrakes.read(of: request, on: connection).own, isOther(pause) {
                return .refused(.pausedAgain)
            }
            let resumed = try connection.execute(
                """
                update accountctl.deletion_requests
                set paused_at = null
                where id = \(request) and paused_at is not null
                """
            )
            try DeletionJobs.wake(request, on: connection)
            return resumed > 0 ? .done : .unchanged
        }
    }

    /// Performs an act on an open request under its lock, and logs it if it was done.
    func act(
        on request: UUID,
        _ action: String,
        reason: String?,
        _ connection: isolated Connection,
        _ body: @Sendable (isolated Connection, UUID) async throws -> Act
    ) async throws -> Act {
        do {
            return try await take(on: request, action, reason: reason, connection, body)
        } catch let error as PostgresError where error.waitedTooLong {
            return .refused(try StepUnderWay.refusal(of: request, on: connection))
        }
    }

    private func take(
        on request: UUID,
        _ action: String,
        reason: String?,
        _ connection: isolated Connection,
        _ body: @Sendable (isolated Connection, UUID) async throws -> Act
    ) async throws -> Act {
        try await connection.atomically { connection in
            try limitLockWaits(on: connection)
            try DeletionJobs.lock([request], on: connection)
            let row = try connection.first(
                """
                select state, user_id
                from accountctl.deletion_requests
                where id = \(request)
                for no key update
                """,
                as: (DeletionState, UUID?).self
            )
            guard let (state, user) = row else { return .unknownRequest }
            guard !state.isFinal, let user else { return .ended(state) }
            let act = try await body(connection, user)
            if act == .done { try log(action, user: user, reason: reason, request: request, on: connection) }
            return act
        }
    }

    /// Keeps an act from waiting for a delete that may take half an hour.
    func limitLockWaits(on connection: isolated Connection) throws {
        try Self.limitLockWaits(to: patience, on: connection)
    }

    /// Keeps a caller without a desk from waiting for a delete that may take half an hour.
    static func limitLockWaits(to patience: Duration, on connection: isolated Connection) throws {
        try connection.execute("select set_config('lock_timeout', \("\(patience.wholeMilliseconds)"), true)")
    }
}
