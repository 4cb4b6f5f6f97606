import JobQueue
import Logging
import Postgres
import ServiceLifecycle

/// Tells workers of what the admin listener was asked to wake them for, as long as the process runs: at once the first
/// time, and of what follows together.
///
/// A notification takes a lock for the whole cluster, and whoever reaches the listener may ask as often as they like.
/// What is pending at the end is left to the workers' polling.
struct WakeService: Service {
    private static let interval = Duration.milliseconds(100)

    /// The jobs whose wake-ups are coalesced; what enqueues has one of its own, and tells at once.
    let queue: JobQueue
    private let waker: JobWaker
    private let pool: Pool
    private let logger: Logger

    init(pool: Pool, logger: Logger) {
        waker = JobWaker(interval: Self.interval)
        queue = JobQueue(waker: waker)
        self.pool = pool
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await waker.run(in: pool, queue: queue, logger: logger)
        }
    }
}
