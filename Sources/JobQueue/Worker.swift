package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Runs jobs: claims them, runs their handlers, writes what became of them, and keeps the tables in order.
///
/// Any number of workers on any number of hosts share the tables; none leads. As a service:
///
/// - **Graceful shutdown**: it stops claiming, lets running jobs end for ``WorkerConfiguration/shutdownGrace``, cancels and hands
///   back the rest without using up an attempt, says goodbye, and returns.
/// - **Cancellation** (a second signal): it cancels all handlers, hands all jobs back and returns; a handler that does not stop is
///   left behind, unable to write.
/// - **The database gone**: it goes on trying; when its leases cannot be trusted any longer its handlers are cancelled.
package final class Worker: Sendable, Service {
    let queue: JobQueue
    let pool: Pool
    let listener: JobListener?
    let registry: JobRegistry
    let configuration: WorkerConfiguration
    let logger: Logger
    let lanes: [Lane]
    let metrics: WorkerMetrics
    let settlement: Settlement
    let core: Mutex<WorkerCore>
    let signal = Signal()
    let beatSignal = Signal()
    /// The latest instant of each schedule that was dealt with, by whomever.
    let lastInstants = Mutex<[String: Int]>([:])

    /// Makes a worker; ``run()`` starts it.
    ///
    /// Without a listener, as behind a transaction pooler, new jobs are found by polling.
    ///
    /// - Throws: ``JobQueueError`` naming the setting out of bounds.
    package init(
        queue: JobQueue,
        pool: Pool,
        listener: JobListener?,
        registry: JobRegistry,
        configuration: WorkerConfiguration,
        logger: Logger
    ) throws(JobQueueError) {
        try configuration.check()
        self.queue = queue
        self.pool = pool
        self.listener = listener
        self.registry = registry
        self.configuration = configuration
        self.logger = logger
        lanes = registry.lanes(queues: configuration.queues)
        metrics = WorkerMetrics(kinds: registry.entries.keys.sorted())
        settlement = Settlement(queue: queue)
        core = Mutex(WorkerCore(configuration, now: .now))
    }

    /// Runs until the service is shut down or cancelled.
    ///
    /// - Throws: ``PostgresError`` or ``JobQueueError`` when it cannot begin: no tables, no rights, an unknown time zone.
    package func run() async throws {
        try await work(endsWhenIdle: false)
    }

    /// Runs until no job is available and none runs; those whose time has not come are left.
    ///
    /// - Throws: As ``run()``.
    package func runUntilIdle() async throws {
        try await work(endsWhenIdle: true)
    }

    private func work(endsWhenIdle: Bool) async throws {
        core.withLock { core in
            core = WorkerCore(configuration, now: .now)
            core.plan.endsWhenIdle = endsWhenIdle
        }
        try await begin()
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask(name: "heartbeat") { await self.heartbeats() }
                group.addTask(name: "upkeep") { await self.upkeep() }
                group.addTask(name: "deadlines") { await self.watchDeadlines() }
                if let listener { group.addTask(name: "listener") { await self.listen(listener) } }
                await exchangeLoop()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.beginStopping()
        }
        await uncancelled { await self.farewell() }
    }

    /// The lanes that a plain claim serves, and those that need the locks of their limits.
    func splitLanes() -> (plain: [Lane], limited: [Lane]) {
        let rated = core.withLock { $0.ratedQueues }
        var plain: [Lane] = []
        var limited: [Lane] = []
        for lane in lanes {
            if rated.contains(lane.queue) || registry.entries[lane.kind]?.limit != nil {
                limited.append(lane)
            } else {
                plain.append(lane)
            }
        }
        return (plain, limited)
    }

    /// Work may have come.
    func wake() {
        core.withLock { $0.plan.isHungry = true }
        signal.set()
    }

    private func beginStopping() {
        core.withLock { core in
            core.plan.isStopping = true
            if core.stoppingSince == nil { core.stoppingSince = .now }
        }
        signal.set()
        beatSignal.set()
    }
}
