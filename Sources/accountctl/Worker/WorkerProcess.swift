import AccountLifecycle
import HTTPCalls
import JobQueue
import Logging
import Metrics
import Postgres
import ServiceLifecycle
import Settings
import Telemetry

/// A worker or listener process: its services, how they start and how they stop.
struct WorkerProcess {
    enum Role {
        /// Work until told to stop, with the listeners that are configured.
        case service
        /// Work until no job is left that could run now.
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

    /// The configuration of the connections for jobs.
    private var pooling: PoolConfiguration {
        var pooling = PoolConfiguration(connection: context.connectionConfiguration(settings))
        pooling.maximumConnections = settings.database.connections
        pooling.connection.sessionSettings = JobQueue.sessionSettings
        return pooling
    }

    /// The services of the process, in the order in which they start.
    private func makeServices(_ role: Role, _ parts: ProcessParts) async throws -> [ServiceConfiguration] {
        // Not from the pool of the jobs, which may be exhausted for longer than a probe waits.
        let control = parts.pools.control
        parts.health.add("database") { await Self.databaseVerdict(control) }
        var services = watches(role, parts)
        if role != .untilIdle { services += try listeners(parts).map { ServiceConfiguration(service: $0) } }
        // The last service to start is the first to shut down: the worker claims no new job while the listeners finish
        // their requests.
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

    /// The services that observe and report, beside the worker.
    private func watches(_ role: Role, _ parts: ProcessParts) -> [ServiceConfiguration] {
        var watches: [ServiceConfiguration] = []
        if let apple = parts.apple {
            let board = RejectionBoard(pool: parts.pools.work, apple: apple, logger: parts.logger)
            watches.append(ServiceConfiguration(service: RejectionWatch(board: board, logger: parts.logger)))
        }
        // Only in a long-running process: one that cron starts would report the same every few minutes.
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
            // The longest that the worker can take after its grace, with every wait at its limit.
            stopTime: settings.worker.shutdownTimeout + .seconds(25),
            signals: signals
        )
        .run()
        parts.logger.notice("stopped")
        return status
    }
}
