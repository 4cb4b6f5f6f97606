import JobQueue
import Logging
import Postgres

/// The connections of a process that works, apart by what may not wait for what.
struct WorkerPools {
    /// Connections of the work: a handler may hold one for long.
    let work: Pool
    /// Connections of heartbeats, claims, outcomes and what brings due jobs: none may wait behind handlers that hold
    /// every other connection.
    let control: Pool
    /// Connections for what comes from Apple, notifications and the codes of sign-ins, which must be neither behind the
    /// work nor before the heartbeats.
    let intake: Pool

    /// Opens the pools for the duration of a closure; `work` says how many connections the work has, and where.
    static func with<Result: Sendable>(
        _ work: PoolConfiguration,
        _ logger: Logger,
        _ body: @Sendable (WorkerPools) async throws -> Result
    ) async throws -> Result {
        var (working, control, intake) = (work, work, work)
        // One of the pools warns of its first failure: who waits for a worker to start should see why it does not.
        working.firstFailureLevel = .warning
        control.maximumConnections = 3
        control.connection.sessionSettings = JobQueue.controlSettings
        intake.maximumConnections = 3
        let (controlled, taken) = (control, intake)
        return try await Pool.withPool(working, logger: logger) { work in
            try await Pool.withPool(controlled, logger: logger) { control in
                try await Pool.withPool(taken, logger: logger) { intake in
                    try await body(WorkerPools(work: work, control: control, intake: intake))
                }
            }
        }
    }
}
