import JobQueue
import Logging
import SignInWithApple
import Telemetry

/// What the services of one process have in common.
struct ProcessParts: Sendable {
    let pools: WorkerPools
    let services: WorkerServices
    /// The clients of Apple, the same for all: what one service finds out about Apple holds for the others.
    ///
    /// Nil where Apple is not configured.
    let apple: AppleClients?
    let queue = JobQueue()
    let health = Health()
    let metrics: MetricsRegistry
    let logger: Logger
}
