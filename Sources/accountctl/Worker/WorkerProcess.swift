import AccountLifecycle
import HTTPCalls
import JobQueue
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import Settings
import Telemetry

/// A process that works or serves: what it consists of, how it starts and stops.
struct WorkerProcess {
    enum Role {
        /// Work until told to stop, with the listeners that are configured.
        case service
        /// Work until nothing is left that could run now.
        case untilIdle
        /// The listeners alone.
        case listeners
    }

    let context: CommandContext
    let settings: Settings

    func run(role: Role) async throws -> ExitStatus {
        if role != .untilIdle { try await checkAddresses() }
        let logger = context.logger(settings)
        let metrics = MetricsRegistry()
        MetricsSystem.bootstrap(metrics)
        let connection = context.connectionConfiguration(settings)
        var pooling = PoolConfiguration(connection: connection)
        pooling.maximumConnections = settings.database.connections
        pooling.connection.sessionSettings = JobQueue.sessionSettings
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await WorkerPools.with(pooling, logger) { pools in
                try await check(pools.work)
                return try await run(role, pools, caller, metrics, logger)
            }
        }
    }

    private func run(
        _ role: Role,
        _ pools: WorkerPools,
        _ caller: HTTPCaller,
        _ metrics: MetricsRegistry,
        _ logger: Logger
    ) async throws -> ExitStatus {
        let queue = JobQueue()
        let health = Health()
        // Not from the pool of the work: that may be in use for longer than a probe waits.
        health.add("database") { await Self.databaseVerdict(pools.control) }
        // One for all parts: what one finds out about Apple holds for the others.
        let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
        let apple = try parts.appleClients()
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
        if let apple {
            let board = RejectionBoard(pool: pools.work, apple: apple, logger: logger)
            services.append(.init(service: RejectionWatch(board: board, logger: logger)))
        }
        if role != .untilIdle {
            // Of a process that goes on: one that cron starts would say the same every few minutes.
            var webSecret = parts.webSecretCopy.map { WebSecretWatch($0) }
            webSecret?.look(logger)
            if settings.listeners.admin != nil {
                services.append(
                    .init(service: GaugeWatch(pool: pools.work, webSecret: webSecret, logger: logger))
                )
            }
        }
        if role != .untilIdle, let listener = adminListener(health, metrics, queue, pools.control, logger) {
            services.append(.init(service: listener))
        }
        if role != .untilIdle, let listener = try publicListener(pools.intake, parts, apple, logger) {
            services.append(.init(service: listener))
        }
        // The last to start is the first to be told of the end: it takes no new job while requests at the listeners
        // end.
        if role != .listeners {
            let worker = try await makeWorker(pools, parts, apple, queue, logger)
            services.append(
                .init(
                    service: WorkService(worker: worker, endsWhenIdle: role == .untilIdle),
                    successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup
                )
            )
        }
        let signals = await Supervision.trapSignals()
        logger.notice("started", metadata: ["version": "\(Version.number)", "role": "\(role)"])
        let status = try await Supervision(
            services: services,
            health: health,
            logger: logger,
            // What the worker needs at most after its grace, when every wait runs into its limit.
            stopTime: settings.worker.shutdownTimeout + .seconds(25),
            signals: signals
        )
        .run()
        logger.notice("stopped")
        return status
    }
}
