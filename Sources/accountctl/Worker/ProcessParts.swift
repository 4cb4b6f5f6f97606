import JobQueue
import Logging
import SignInWithApple
import Telemetry

/// The parts that the services of one process share.
struct ProcessParts: Sendable {
    let pools: WorkerPools
    let services: WorkerServices
    /// The clients of Apple, shared so that what one service finds out about Apple holds for the others.
    ///
    /// Nil if Apple is not configured.
    let apple: AppleClients?
    let queue = JobQueue()
    let health = Health()
    let metrics: MetricsRegistry
    let logger: Logger
}
