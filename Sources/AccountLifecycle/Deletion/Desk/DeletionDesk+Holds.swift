package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension DeletionDesk {
    /// The result of placing a legal hold.
    package enum Holding: Sendable, Hashable {
        /// Placed under this number, before anything of the account was deleted.
        case held(Int64)
        /// Placed under this number, but late: the deletion, in this state, had begun these steps, which cannot be
        /// undone.
        case heldLate(Int64, state: DeletionState, done: [DeletionStep])
        /// The account is already on hold for the same reason, under this number.
        case unchanged(Int64)
        case unknownUser
        /// A step that cannot be interrupted is in progress: too late, unless it fails.
        case notNow(DeletionRefusal)
    }

    /// Places a legal hold on an account; a second hold for the same reason is not placed.
    package func hold(_ user: UUID, reason: String, on connection: isolated Connection) async throws -> Holding {
        do {
            while true {
                if let holding = try await place(on: user, reason: reason, connection) { return holding }
            }
        } catch let error as PostgresError where error.waitedTooLong {
            return .notNow(try StepUnderWay.refusal(of: user, on: connection))
        }
    }

    /// Places the hold; returns nil, with nothing done, if a request was opened meanwhile whose job is not locked.
    private func place(
        on user: UUID,
        reason: String,
        _ connection: isolated Connection
    ) async throws -> Holding? {
        do {
            return try await placeBeside(Self.openRequest(of: user, on: connection), user, reason: reason, connection)
        } catch is RequestOpened {
            return nil
        }
    }

    private func placeBeside(
        _ open: UUID?,
        _ user: UUID,
        reason: String,
        _ connection: isolated Connection
    ) async throws -> Holding {
        try await connection.atomically { connection in
            try limitLockWaits(on: connection)
            // Before the account, in a worker's lock order: an irreversible step that begins at this moment comes
            // before and is reported, or sees the hold.
            if let open { try DeletionJobs.lock([open], on: connection) }
            // The row lock lets one in at a time: another hold that is being placed is seen below.
            let exists = try connection.first(
                "select true from auth.users where id = \(user) for no key update",
                as: Bool.self
            )
            guard exists == true else { return .unknownUser }
            // Its job would now be locked in the wrong order. A request that is opened from here on locks nobody out
            // before the hold is placed.
            guard try Self.openRequest(of: user, on: connection) == open else { throw RequestOpened() }
            let (hold, isNew) = try connection.one(
                """
                with present as (
                    select id from accountctl.holds where user_id = \(user) and reason = \(reason) order by id limit 1
                ), placed as (
                    insert into accountctl.holds (user_id, reason, placed_by)
                    select \(user), \(reason), \(operatorName)
                    where not exists (select from present)
                    returning id
                )
                select id, true from placed
                union all
                select id, false from present
                """,
                as: (Int64, Bool).self
            )
            guard isNew else { return .unchanged(hold) }
            try log("deletion.hold", user: user, reason: reason, request: nil, on: connection)
            let late = try connection.first(
                """
                select r.state, jsonb_agg(s.step order by s.started_at)
                from accountctl.deletion_requests as r
                join accountctl.deletion_steps as s on s.request_id = r.id
                where r.user_id = \(user)
                  and r.finished_at is null
                  and \(DeletionBrakes.isStepBegunForGood)
                group by r.state
                """,
                as: (DeletionState, JSON<[DeletionStep]>).self
            )
            return late.map { .heldLate(hold, state: $0, done: $1.value) } ?? .held(hold)
        }
    }

    /// Whether releasing the account's holds lets a deletion continue.
    ///
    /// - Throws: `PostgresError`.
    package static func waitsForRelease(of user: UUID, on connection: isolated Connection) throws -> Bool {
        guard try DeletionBrakes.hasHold(user, on: connection) else { return false }
        return try openRequest(of: user, on: connection) != nil
    }

    /// The open request of an account; nil if it has none.
    ///
    /// - Throws: `PostgresError`.
    package static func openRequest(of user: UUID, on connection: isolated Connection) throws -> UUID? {
        try connection.first(
            "select id from accountctl.deletion_requests where finished_at is null and user_id = \(user)",
            as: UUID.self
        )
    }

    /// A hold on an account.
    package struct Hold: Sendable, Hashable {
        package let id: Int64
        package let reason: String
        package let placedBy: String
        package let placedAt: Date
    }

    /// The holds of an account, oldest first.
    ///
    /// - Throws: `PostgresError`.
    package static func holds(of user: UUID, on connection: isolated Connection) throws -> [Hold] {
        try connection.query(
            """
            select id, reason, placed_by, placed_at
            from accountctl.holds
            where user_id = \(user)
            order by id
            """,
            as: (Int64, String, String, Date).self
        ).map { Hold(id: $0, reason: $1, placedBy: $2, placedAt: $3) }
    }

    /// Whether a hold was released; the released hold no longer names its account.
    ///
    /// - Throws: `PostgresError`.
    package static func isReleased(_ hold: Int64, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            "select exists (select from accountctl.holds where id = \(hold) and released_at is not null)",
            as: Bool.self
        )
    }

    /// Releases the given holds of an account, or all if nil; returns how many were released.
    package func release(
        _ user: UUID,
        holds: [Int64]? = nil,
        reason: String?,
        on connection: isolated Connection
    ) async throws -> Int {
        try await connection.atomically { connection in
            let ids = try connection.query(
                """
                update accountctl.holds
                set user_id = null, released_by = \(operatorName), released_at = clock_timestamp()
                where user_id = \(user)
                  and (\(holds)::bigint[] is null or id = any(\(holds)::bigint[]))
                returning id
                """,
                as: Int64.self
            )
            let released = ids.count
            if let waiting = try Self.openRequest(of: user, on: connection) {
                try DeletionJobs.wake([waiting], on: connection)
            }
            if released > 0 {
                try actor.log(
                    "deletion.release",
                    on: user,
                    reason: reason,
                    facts: ["holds": ids.sorted().map(String.init).joined(separator: ", ")],
                    connection
                )
            }
            return released
        }
    }
}

/// While a hold waited for the account's row, a request for the account was opened, or the open one ended.
private struct RequestOpened: Error {}
