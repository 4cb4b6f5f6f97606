package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension DeletionDesk {
    /// Stops every request before its next irreversible step, from now on; then waits for deletes of rows that are in
    /// progress.
    ///
    /// Needs no hash key: the log line names no account, and whoever stops deletions at night may have another key
    /// file, or none. The operator and the reason of an earlier pause stay unless another reason is given: the reason
    /// may be that this is a clone.
    ///
    /// - Parameters:
    ///   - signature: who pauses, and why.
    ///   - patience: how long to wait for steps in progress.
    ///   - connection: the database.
    /// - Returns: Whether anything changed, and the deletes that were still in progress when the patience ended;
    ///   nothing stops these.
    /// - Throws: `PostgresError`.
    @discardableResult
    package static func pauseAll(
        by signature: OperatorSignature,
        patience: Duration = .seconds(10),
        on connection: isolated Connection
    ) async throws -> (isChanged: Bool, underWay: [StepUnderWay]) {
        let (name, reason) = (signature.name, signature.reason)
        let isChanged = try await connection.atomically { connection in
            let changed = try connection.execute(
                """
                update accountctl.deletion_brakes
                set paused_at = coalesce(paused_at, clock_timestamp()), paused_by = \(name), paused_reason = \(reason)
                where paused_at is null or paused_reason is distinct from coalesce(\(reason), paused_reason)
                """
            )
            if changed > 0 { try signature.log("deletion.pause_all", on: connection) }
            return changed > 0
        }
        // In a rehearsal the pause is not committed, so no step sees it.
        guard !connection.isInTransaction else { return (isChanged, []) }
        do {
            try await connection.transaction { connection in
                try limitLockWaits(to: patience, on: connection)
                try connection.execute("select \(DeletionBrakes.awaiting)")
            }
            return (isChanged, [])
        } catch let error as PostgresError where error.waitedTooLong {
            return (isChanged, try StepUnderWay.all(on: connection))
        }
    }

    /// Lets all requests continue, except those that are paused individually.
    ///
    /// Requests that the pause held are woken afterwards, in batches, so that this work does not hold the brakes, which
    /// every lock-out needs. They look again by themselves, too; ``wakePaused(on:)`` wakes those that an interrupted
    /// call left asleep.
    ///
    /// - Parameters:
    ///   - pause: the pause that the operator was asked about; one that somebody has made since, or given another
    ///     reason, stays. Nil for whatever pause there is.
    ///   - reason: why the requests may continue.
    ///   - connection: the database.
    /// - Returns: False if another pause stays.
    /// - Throws: ``NewHashKey``; ``OtherHashKey``; `PostgresError`.
    @discardableResult
    package func resumeAll(
        _ pause: StandingBrakes.Pause? = nil,
        reason: String? = nil,
        on connection: isolated Connection
    ) async throws -> Bool {
        let isResumed = try await connection.atomically { connection in
            try connection.execute("select from accountctl.deletion_brakes for no key update")
            if let pause, let standing = try StandingBrakes.read(on: connection).everything, standing != pause {
                return false
            }
            try connection.execute(
                """
                update accountctl.deletion_brakes
                set paused_at = null, paused_by = null, paused_reason = null
                where true
                """
            )
            try log("deletion.resume_all", user: nil, reason: reason, request: nil, on: connection)
            return true
        }
        if isResumed { try await Self.wakePaused(on: connection) }
        return isResumed
    }

    /// Wakes the requests that a pause held when they last looked, in batches.
    ///
    /// - Throws: `PostgresError`.
    package static func wakePaused(on connection: isolated Connection) async throws {
        let waiting = try connection.query(
            """
            select id
            from accountctl.deletion_requests
            where finished_at is null
              and state = 'held'
              and situation ->> 'code' = \(Situation.Code.paused.rawValue)
            """,
            as: UUID.self
        )
        for start in stride(from: 0, to: waiting.count, by: DeletionJobs.wokenTogether) {
            let part = waiting[start...].prefix(DeletionJobs.wokenTogether)
            try await connection.atomically { try DeletionJobs.wake(Array(part), on: $0) }
        }
    }

    /// Whether the grace period of an open request is over, so that only a brake can still keep it from its account.
    ///
    /// - Throws: `PostgresError`.
    package static func isDue(_ request: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.first(
            """
            select run_after <= clock_timestamp()
            from accountctl.deletion_requests
            where id = \(request) and finished_at is null
            """,
            as: Bool.self
        ) ?? false
    }

    /// How many open requests are paused individually, which resuming all does not release.
    ///
    /// - Throws: `PostgresError`.
    package static func pausedAlone(on connection: isolated Connection) throws -> Int {
        try connection.one(
            """
            select count(*)
            from accountctl.deletion_requests
            where finished_at is null and paused_at is not null
            """,
            as: Int.self
        )
    }

    /// How many requests are open.
    ///
    /// - Throws: `PostgresError`.
    package static func openRequests(on connection: isolated Connection) throws -> Int {
        try connection.one(
            "select count(*) from accountctl.deletion_requests where finished_at is null",
            as: Int.self
        )
    }
}
