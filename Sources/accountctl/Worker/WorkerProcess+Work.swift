import AccountLifecycle
import JobQueue
import Logging
import MailRelay
import Migrations
import Postgres
import Settings
import SignInWithApple

extension WorkerProcess {
    /// The database has to have the schema of this version, or one that a deploy has already brought further.
    func check(_ pool: Pool) async throws {
        let isInstalled = try await pool.withConnection { connection in
            try AccountLifecycle.isInstalled(on: connection)
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

    /// The worker with everything that its jobs need.
    func makeWorker(
        _ pools: WorkerPools,
        _ parts: WorkerServices,
        _ apple: AppleClients?,
        _ queue: JobQueue,
        _ logger: Logger
    ) async throws -> Worker {
        let services = try parts.deletionServices(pool: pools.work, codes: pools.intake, apple: apple)
        let policy = parts.policy
        try await pools.work.withConnection { try policy.publish(on: $0) }
        try await parts.checkKeys(pool: pools.work)
        try await recordUse(pools.work, logger)
        var registry = JobRegistry()
        try AccountLifecycle.registerJobs(
            in: &registry,
            deletions: services,
            credentials: try parts.credentialServices(pool: pools.work, apple: apple),
            webSecret: parts.webSecretCopy,
            mail: MailCheckJob(
                ResolverConfiguration(servers: settings.mail.resolvers.compactMap { NameServer($0) }),
                relayDomains: settings.mail.relayDomains
            )
        )
        var configuration = WorkerConfiguration(name: ProcessName.own)
        configuration.version = Version.number
        configuration.slots = settings.worker.concurrency
        configuration.pollInterval = settings.worker.pollInterval
        configuration.leaseLifetime = settings.worker.leaseDuration
        configuration.shutdownGrace = settings.worker.shutdownTimeout
        configuration.retention = settings.worker.retention
        return try Worker(
            queue: queue,
            pool: pools.work,
            control: pools.control,
            // Notifications cannot be heard through a pooler in transaction mode: then polling alone finds work.
            listener: settings.database.pooler == .transaction
                ? nil : JobListener(context.connectionConfiguration(settings), logger: logger),
            registry: registry,
            configuration: configuration,
            logger: logger,
            figuresRead: FigureStamp("jobs").record
        )
    }

    /// Has the database remember with what it is worked on; in a clone every deletion is paused before anything is
    /// claimed.
    private func recordUse(_ pool: Pool, _ logger: Logger) async throws {
        let actor = Operator(name: "accountctl worker", hashKey: try WorkerServices.hashKey(settings))
        let (project, storage) = (settings.database.project, settings.storage.url)
        let reason = try await pool.withConnection { connection in
            try await DatabaseUse.record(project: project, storage: storage, by: actor, on: connection)
        }
        guard let reason else { return }
        logger.error(
            """
            every deletion is paused; after a restore repeat the list of erasures first: accountctl deletion replay FILE; where this is \
            right, go on with: accountctl deletion resume --all
            """,
            metadata: ["reason": "\(reason)"]
        )
    }
}
