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

    private typealias ServiceConfiguration = ServiceGroupConfiguration.ServiceConfiguration

    func run(role: Role) async throws -> ExitStatus {
        if role != .untilIdle { try await checkAddresses() }
        let logger = context.logger(settings)
        let metrics = MetricsRegistry(help: MetricHelp.texts)
        MetricsSystem.bootstrap(metrics)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await WorkerPools.with(pooling, logger) { pools in
                try await check(pools.work)
                let services = WorkerServices(settings: settings, caller: caller, logger: logger)
                let parts = ProcessParts(
                    pools: pools,
                    services: services,
                    apple: try services.appleClients(),
                    metrics: metrics,
                    logger: logger
                )
                return try await supervise(try await makeServices(role, parts), role, parts)
            }
        }
    }

    /// How the connections of the work are opened.
    private var pooling: PoolConfiguration {
        var pooling = PoolConfiguration(connection: context.connectionConfiguration(settings))
        pooling.maximumConnections = settings.database.connections
        pooling.connection.sessionSettings = JobQueue.sessionSettings
        return pooling
    }

    /// What the process consists of, in the order in which it starts.
    private func makeServices(_ role: Role, _ parts: ProcessParts) async throws -> [ServiceConfiguration] {
        // Not from the pool of the work: that may be in use for longer than a probe waits.
        let control = parts.pools.control
        parts.health.add("database") { await Self.databaseVerdict(control) }
        var services = watches(role, parts)
        if role != .untilIdle { services += try listeners(parts).map { ServiceConfiguration(service: $0) } }
        // The last to start is the first to be told of the end: it takes no new job while requests at the listeners
        // end.
        if role != .listeners {
            let worker = try await makeWorker(parts)
            services.append(
                ServiceConfiguration(
                    service: WorkService(worker: worker, endsWhenIdle: role == .untilIdle),
                    successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup
                )
            )
        }
        return services
    }

    /// What looks around and tells, beside the work.
    private func watches(_ role: Role, _ parts: ProcessParts) -> [ServiceConfiguration] {
        var watches: [ServiceConfiguration] = []
        if let apple = parts.apple {
            let board = RejectionBoard(pool: parts.pools.work, apple: apple, logger: parts.logger)
            watches.append(ServiceConfiguration(service: RejectionWatch(board: board, logger: parts.logger)))
        }
        // Of a process that goes on: one that cron starts would say the same every few minutes.
        guard role != .untilIdle else { return watches }
        var webSecret = parts.services.webSecretCopy.map { WebSecretWatch($0) }
        webSecret?.look(parts.logger)
        if settings.listeners.admin != nil {
            let gauges = GaugeWatch(pool: parts.pools.work, webSecret: webSecret, logger: parts.logger)
            watches.append(ServiceConfiguration(service: gauges))
        }
        return watches
    }

    private func supervise(
        _ services: [ServiceConfiguration],
        _ role: Role,
        _ parts: ProcessParts
    ) async throws -> ExitStatus {
        let signals = await Supervision.trapSignals()
        parts.logger.notice("started", metadata: ["version": "\(Version.number)", "role": "\(role)"])
        let status = try await Supervision(
            services: services,
            health: parts.health,
            logger: parts.logger,
            // What the worker needs at most after its grace, when every wait runs into its limit.
            stopTime: settings.worker.shutdownTimeout + .seconds(25),
            signals: signals
        )
        .run()
        parts.logger.notice("stopped")
        return status
    }
}
