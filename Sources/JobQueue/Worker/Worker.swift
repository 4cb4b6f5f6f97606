package import CoreMetrics
package import Logging
package import Postgres
import ServiceLifecycle
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Runs jobs: claims them, runs their handlers, writes their outcomes, and maintains the tables.
///
/// Any number of workers on any number of hosts share the tables; there is no leader.
///
/// ```swift
/// let worker = try Worker(
///     queue: JobQueue(), pool: pool, control: control, listener: JobListener(connection, logger: logger),
///     registry: registry, configuration: WorkerConfiguration(name: "\(host) \(process)"), logger: logger
/// )
/// try await worker.run()
/// ```
///
/// As a service:
///
/// - **Graceful shutdown**: the worker stops claiming, gives running jobs ``WorkerConfiguration/shutdownGrace`` to end,
///   cancels and hands back the rest without using up an attempt, deregisters, and returns.
/// - **Cancellation** (a second signal): the worker cancels all handlers, hands all jobs back and returns. A handler
///   that does not stop is left behind, unable to write.
/// - **Loss of the database**: the worker keeps trying; once it can no longer trust its leases, it cancels its
///   handlers. When the database is back, it declares no other worker lost before that worker has had time to send a
///   heartbeat. Told to stop meanwhile, it still ends a few seconds after the grace, and throws if outcomes could not
///   be written: their jobs run again when the leases expire.
/// - **Handlers that do not stop** at their deadline lose their jobs and keep their slots. When they hold all slots,
///   the worker ends and throws, so that the supervisor restarts the process.
package final class Worker: Sendable, Service {
    let queue: JobQueue
    let pool: Pool
    /// The pool for heartbeats, claims, outcomes and the promotion of due jobs.
    let control: Pool
    let listener: JobListener?
    let registry: JobRegistry
    let configuration: WorkerConfiguration
    let logger: Logger
    let lanes: [Lane]
    /// How many slots are reserved for urgent jobs.
    let reserve: Int
    let metrics: WorkerMetrics
    let figuresRead: @Sendable (Date) -> Void
    let settlement: Settlement
    let core: Mutex<WorkerCore>
    let signal = Signal()
    let beatSignal = Signal()
    let stopSignal = Signal()
    let upkeepFailures = Mutex(FailureCounts())
    let seenInstants = Mutex(SeenInstants())

    /// Creates a worker; ``run()`` starts it.
    ///
    /// Without a listener, as behind a transaction pooler, new jobs are found by polling. Metrics go to `metrics`;
    /// `figuresRead` is called with the time of each reading of the tables for the gauges, and first with the current
    /// time.
    ///
    /// Handlers get their connections from `pool`. If they may hold all of its connections, give the worker a `control`
    /// pool of its own, of three connections with ``JobQueue/controlSettings``: a heartbeat that has to wait behind
    /// handlers costs the worker every lease.
    ///
    /// - Throws: ``JobQueueError`` naming the setting that is out of bounds.
    package init(
        queue: JobQueue,
        pool: Pool,
        control: Pool? = nil,
        listener: JobListener?,
        registry: JobRegistry,
        configuration: WorkerConfiguration,
        logger: Logger,
        metrics factory: any MetricsFactory = MetricsSystem.factory,
        figuresRead: @escaping @Sendable (Date) -> Void = { _ in }
    ) throws(JobQueueError) {
        try configuration.check()
        self.queue = queue
        self.pool = pool
        self.control = control ?? pool
        self.listener = listener
        self.registry = registry
        self.configuration = configuration
        self.logger = logger
        lanes = registry.lanes
        metrics = WorkerMetrics(
            kinds: registry.entries.keys.sorted(),
            queues: Set(lanes.map(\.queue)),
            factory: factory
        )
        self.figuresRead = figuresRead
        figuresRead(.now)
        settlement = Settlement(queue: queue)
        // Without urgent lanes there is nothing to reserve, and no separate claim for them.
        reserve = lanes.contains(where: \.isUrgent) ? configuration.reservedSlots : 0
        core = Mutex(WorkerCore(configuration, reserve: reserve, now: .now))
    }

    /// Runs until the service is shut down or cancelled.
    ///
    /// - Throws: ``PostgresError`` or ``JobQueueError`` if it cannot start: no tables, no privileges, an unknown time
    ///   zone; ``JobQueueError`` `outcomesLost` if it ended without having written everything, `handlersStuck` if
    ///   handlers that do not stop hold all slots.
    package func run() async throws {
        try await work(endsWhenIdle: false)
    }

    /// Runs until no job is available or running.
    ///
    /// Scheduled jobs that are not due yet are left, and so are jobs held back by a pause, a rate or a limit.
    ///
    /// Also waits for the jobs of lost workers, for a quarter of a lease from the start: until then these workers may
    /// still send a heartbeat.
    ///
    /// - Throws: As ``run()``.
    package func runUntilIdle() async throws {
        try await work(endsWhenIdle: true)
    }

    private func work(endsWhenIdle: Bool) async throws {
        core.withLock { core in
            core = WorkerCore(configuration, reserve: reserve, now: .now)
            core.plan.endsWhenIdle = endsWhenIdle
        }
        try await begin()
        await withGracefulShutdownHandler {
            // Each task returns whether its end is that of the worker.
            await withTaskGroup(of: Bool.self) { group in
                for part in parts {
                    group.addTask(name: part.name) {
                        await part.run()
                        return false
                    }
                }
                group.addTask(name: "deadlines") { await self.watchDeadlines() }
                group.addTask(name: "stop") {
                    await self.stopIsOverdue(); return true
                }
                group.addTask(name: "exchange") {
                    await self.exchangeLoop(); return true
                }
                for await endsWorker in group where endsWorker { break }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.beginStopping()
        }
        let lost = await uncancelled { await self.shutDown() }
        guard lost == 0 else {
            throw JobQueueError(.outcomesLost, "\(lost) outcomes could not be written; their jobs run again")
        }
        let abandoned = core.withLock { $0.abandoned }
        guard abandoned == 0 else {
            throw JobQueueError(
                .handlersStuck,
                "all slots were held by handlers that did not stop (\(abandoned)); the process has to be restarted"
            )
        }
    }

    /// What a worker does all the time, beside its exchanges with the table.
    private var parts: [(name: String, run: @Sendable () async -> Void)] {
        var parts: [(name: String, run: @Sendable () async -> Void)] = [
            (name: "heartbeat", run: { await self.heartbeats() }), (name: "poll", run: { await self.poll() }),
            (name: "due", run: { await self.runDueWork() }), (name: "upkeep", run: { await self.upkeep() }),
            (name: "vacuum", run: { await self.keepVacuumed() }),
        ]
        if let listener { parts.append((name: "listener", run: { await self.listen(listener) })) }
        return parts
    }

    /// The lanes of a claim: those that need no lock, and those under a limit or a rate, whose rows a claim locks.
    ///
    /// While another session holds such a row, there are none of the second sort: the worker would wait for it with
    /// everything else that it has to write and claim.
    func splitLanes(of scope: ClaimScope) -> (plain: [Lane], limited: [Lane]) {
        let (restrictions, areHeld) = core.withLock { ($0.restrictions, $0.plan.limitsHeldUntil != nil) }
        var plain: [Lane] = []
        var limited: [Lane] = []
        for lane in lanes where scope != .urgent || lane.isUrgent {
            if restrictions.ratedQueues.contains(lane.queue) || restrictions.limitedKinds.contains(lane.kind)
                || registry.entries[lane.kind]?.limit != nil
            {
                limited.append(lane)
            } else {
                plain.append(lane)
            }
        }
        return (plain, areHeld ? [] : limited)
    }

    /// Notes that there may be new jobs.
    func wake() {
        core.withLock { $0.plan.wake() }
        signal.set()
    }

    private func beginStopping() {
        core.withLock { core in
            core.plan.isStopping = true
            if core.stoppingSince == nil { core.stoppingSince = .now }
        }
        signal.set()
        beatSignal.set()
        stopSignal.set()
    }
}
