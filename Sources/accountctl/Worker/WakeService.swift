import JobQueue
import Logging
import Postgres
import ServiceLifecycle

/// Notifies workers of the wake-up requests of the admin listener while the process runs: the first at once, those that
/// follow together.
///
/// Each notification takes a lock on the whole database cluster, and clients of the listener may ask as often as they
/// like. Requests still pending at shutdown are left to the workers' polling.
struct WakeService: Service {
    private static let interval = Duration.milliseconds(100)

    /// The queue whose wake-ups are coalesced; code that enqueues jobs uses a queue of its own and notifies at once.
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
