import AccountLifecycle
import HTTPCalls
import HTTPService
import JobQueue
import Logging
import MailRelay
import Metrics
import Migrations
import Postgres
import ServiceLifecycle
import Settings
import SignInWithApple
import Telemetry

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

    /// The connections of the process, apart by what may not wait for what.
    private struct Pools {
        /// Of the work: a handler may hold one for long.
        let work: Pool
        /// Of heartbeats, claims and outcomes, which must not wait behind handlers that hold every other connection.
        let control: Pool
        /// Of Apple's notifications, which must be neither behind the work nor before the heartbeats.
        let intake: Pool
    }

    func run(role: Role) async throws -> ExitStatus {
        let logger = context.logger(settings)
        let metrics = MetricsRegistry()
        MetricsSystem.bootstrap(metrics)
        let connection = context.connectionConfiguration(settings)
        var pooling = PoolConfiguration(connection: connection)
        pooling.maximumConnections = settings.database.connections
        pooling.connection.sessionSettings = JobQueue.sessionSettings
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await withPools(pooling, logger) { pools in
                try await check(pools.work)
                return try await run(role, pools, caller, metrics, logger)
            }
        }
    }

    private func withPools<Result: Sendable>(
        _ work: PoolConfiguration,
        _ logger: Logger,
        _ body: @Sendable (Pools) async throws -> Result
    ) async throws -> Result {
        var (control, intake) = (work, work)
        control.maximumConnections = 2
        intake.maximumConnections = 3
        let (controlled, taken) = (control, intake)
        return try await Pool.withPool(work, logger: logger) { work in
            try await Pool.withPool(controlled, logger: logger) { control in
                try await Pool.withPool(taken, logger: logger) { intake in
                    try await body(Pools(work: work, control: control, intake: intake))
                }
            }
        }
    }

    private func run(
        _ role: Role,
        _ pools: Pools,
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
        if role != .untilIdle, settings.listeners.admin != nil {
            services.append(.init(service: DeletionGaugeWatch(pool: pools.work, logger: logger)))
        }
        if role != .listeners {
            let worker = try await makeWorker(pools.work, pools.control, parts, apple, queue, logger)
            services.append(
                .init(
                    service: WorkService(worker: worker, endsWhenIdle: role == .untilIdle),
                    successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup
                )
            )
        }
        if role != .untilIdle, let address = settings.listeners.admin {
            services.append(
                .init(
                    service: AdminListener(
                        address: ListenerAddress(host: address.host, port: address.port),
                        health: health,
                        metrics: { metrics.text() },
                        wake: { await Self.wake(queue, pools.control, logger) },
                        logger: logger,
                        started: { port in
                            logger.notice("admin listener started", metadata: ["port": "\(port)"])
                        }
                    )
                )
            )
        }
        publishWebSecretEnd()
        if role != .untilIdle, let listener = try publicListener(pools.intake, parts, apple, logger) {
            services.append(.init(service: listener))
        }
        let signals = await Supervision.trapSignals()
        logger.notice("started", metadata: ["version": "\(Version.number)", "role": "\(role)"])
        let status = try await Supervision(
            services: services,
            health: health,
            logger: logger,
            // What the worker needs at most after its grace, when every wait runs into its limit.
            stopTime: settings.worker.shutdownTimeout + .seconds(20),
            signals: signals
        )
        .run()
        logger.notice("stopped")
        return status
    }

    /// The database has to have the schema of this version, or one that a deploy has already brought further.
    private func check(_ pool: Pool) async throws {
        let isInstalled = try await pool.withConnection { connection in
            try connection.one("select to_regclass('accountctl.jobs') is not null", as: Bool.self)
        }
        guard isInstalled else {
            throw CommandError(
                .failure,
                "the schema is not installed in this database",
                hint: "Install it: accountctl migrate up"
            )
        }
        // Without its tables some jobs would fail again and again, and nothing would say why.
        let plan = try await context.withMigrations { engine, connection in try engine.plan(on: connection) }
        if let behind = SchemaGap.behind(plan) { throw behind }
    }

    /// When the web flow's client secret ends, for an alarm: an instant, so that once is enough.
    private func publishWebSecretEnd() {
        guard let text = settings.apple.webClientSecret,
            case .clientSecret(let secret) = StaticClientSecret.inspect(text, now: Date()), let end = secret.expiresAt
        else { return }
        Gauge(label: "apple_web_client_secret_expiry_timestamp_seconds").record(end.timeIntervalSince1970)
    }

    /// Takes Apple's notifications, where an address for them is set.
    private func publicListener(
        _ pool: Pool,
        _ parts: WorkerServices,
        _ apple: AppleClients?,
        _ logger: Logger
    ) throws -> PublicListener? {
        guard let address = settings.listeners.publicAddress else { return nil }
        guard let credentials = try parts.credentialServices(pool: pool, apple: apple) else {
            throw CommandError(
                .usage,
                "listen.public is set, and Sign in with Apple is not configured",
                hint: "Settings of the section [apple]: notifications are verified for the configured client ids."
            )
        }
        let intake = NotificationIntake(credentials)
        return PublicListener(
            address: ListenerAddress(host: address.host, port: address.port),
            logger: logger,
            notification: { body in
                switch try await intake.take(body) {
                case .stored, .duplicate: .accepted
                case .refused: .refused
                case .notNow: .later
                }
            },
            started: { port in logger.notice("public listener started", metadata: ["port": "\(port)"]) }
        )
    }

    private func makeWorker(
        _ pool: Pool,
        _ control: Pool,
        _ parts: WorkerServices,
        _ apple: AppleClients?,
        _ queue: JobQueue,
        _ logger: Logger
    ) async throws -> Worker {
        let services = try parts.deletionServices(pool: pool, apple: apple)
        try await publish(parts.policy, pool)
        var registry = JobRegistry()
        try AccountLifecycle.registerJobs(in: &registry, services: services)
        try await parts.checkKeys(pool: pool)
        if let credentials = try parts.credentialServices(pool: pool, apple: apple) {
            try CredentialJobs.register(in: &registry, services: credentials)
        }
        if let secret = settings.apple.webClientSecret {
            try WebSecretReminder(secret).register(in: &registry)
        }
        try MailCheckJob(
            ResolverConfiguration(servers: settings.mail.resolvers.compactMap { NameServer($0) }),
            relayDomains: settings.mail.relayDomains
        )
        .register(in: &registry)
        var configuration = WorkerConfiguration(name: Self.name)
        configuration.version = Version.number
        configuration.slots = settings.worker.concurrency
        configuration.pollInterval = settings.worker.pollInterval
        configuration.leaseLifetime = settings.worker.leaseDuration
        configuration.shutdownGrace = settings.worker.shutdownTimeout
        return try Worker(
            queue: queue,
            pool: pool,
            control: control,
            // Notifications cannot be heard through a pooler in transaction mode: then polling alone finds work.
            listener: settings.database.pooler == .transaction
                ? nil : JobListener(context.connectionConfiguration(settings), logger: logger),
            registry: registry,
            configuration: configuration,
            logger: logger
        )
    }

    /// What functions in the database need to know of the settings.
    private func publish(_ policy: DeletionPolicy, _ pool: Pool) async throws {
        try await pool.withTransaction { connection in
            for (name, value) in policy.published {
                try connection.execute(
                    """
                    insert into accountctl.settings (name, value)
                    values (\(name), to_jsonb(\(value)::text))
                    on conflict (name) do update
                    set value = excluded.value, updated_at = now()
                    where settings.value is distinct from excluded.value
                    """
                )
            }
        }
    }

    private static func wake(_ queue: JobQueue, _ pool: Pool, _ logger: Logger) async {
        do {
            let queues = try await pool.withConnection { connection in
                try connection.query("select name from accountctl.queues", as: String.self)
            }
            try await queue.wake(Set(queues), in: pool)
        } catch {
            // Polling finds the work a moment later.
            logger.warning("could not wake workers", metadata: ["reason": "\(error)"])
        }
    }

    private static func databaseVerdict(_ pool: Pool) async -> Health.Verdict {
        do {
            try await pool.withConnection { connection in
                _ = try connection.one("select 1", as: Int.self, deadline: .seconds(2))
            }
            return .ready
        } catch {
            return .notReady("the database cannot be reached")
        }
    }

    /// Host and process id, as `workers` shows it.
    private static var name: String {
        "\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"
    }
}

/// The worker as a service that may end by itself.
private struct WorkService: Service {
    let worker: Worker
    let endsWhenIdle: Bool

    func run() async throws {
        if endsWhenIdle {
            try await worker.runUntilIdle()
        } else {
            try await worker.run()
        }
    }
}
