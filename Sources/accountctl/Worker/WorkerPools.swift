import JobQueue
import Logging
import Postgres

/// The connection pools of a worker process, separated so that urgent work does not wait behind slow work.
struct WorkerPools {
    /// Connections for jobs: a handler may hold one for long.
    let work: Pool
    /// Connections for heartbeats, claims, outcomes and the promotion of due jobs: none of these may wait behind
    /// handlers that hold every other connection.
    let control: Pool
    /// Connections for input from Apple, notifications and the codes of sign-ins: it must neither wait behind jobs nor
    /// delay heartbeats.
    let intake: Pool

    /// Opens the pools for the duration of a closure; `work` configures the pool of the jobs, and the others are
    /// derived from it.
    static func with<Result: Sendable>(
        _ work: PoolConfiguration,
        _ logger: Logger,
        _ body: @Sendable (WorkerPools) async throws -> Result
    ) async throws -> Result {
        var (working, control, intake) = (work, work, work)
        // Only one pool warns of its first failure, so that whoever waits for the worker to start sees the reason.
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
