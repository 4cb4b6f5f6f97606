import AccountLifecycle
import JobQueue
import Logging
import MailRelay
import Migrations
import Postgres
import Settings

extension WorkerProcess {
    /// Refuses a database whose schema is older than this program; one that a deploy has already migrated further is
    /// accepted.
    func check(_ pool: Pool) async throws {
        try await pool.withConnection { connection in
            if try AccountLifecycle.isInstalled(on: connection) { return }
            try SupabaseDatabase.check(connection)
            throw SchemaGap.absent()
        }
        // Jobs that need a missing table would fail again and again without a clear reason.
        let plan = try await context.withMigrations { engine, connection in try engine.plan(on: connection) }
        if let behind = SchemaGap.behind(plan) { throw behind }
    }

    /// The worker with everything that its jobs need.
    ///
    /// Publishes the settings for deletions to the database, where they apply from now on.
    func makeWorker(_ parts: ProcessParts) async throws -> Worker {
        let registry = try makeRegistry(parts)
        let (pools, policy) = (parts.pools, parts.services.policy)
        try await pools.work.withConnection { try policy.publish(on: $0) }
        try await parts.services.checkKeys(pool: pools.work)
        try await recordUse(pools.work, parts.logger)
        return try Worker(
            queue: parts.queue,
            pool: pools.work,
            control: pools.control,
            // A pooler in transaction mode delivers no notifications: then only polling finds work.
            listener: settings.database.pooler == .transaction
                ? nil : JobListener(context.connectionConfiguration(settings), logger: parts.logger),
            registry: registry,
            configuration: workerConfiguration,
            logger: parts.logger,
            figuresRead: FigureStamp("jobs").record
        )
    }

    /// The kinds of jobs that the worker carries out, with the services that they use.
    ///
    /// - Throws: ``CommandError`` naming the setting that is missing or invalid.
    private func makeRegistry(_ parts: ProcessParts) throws -> JobRegistry {
        let (pools, services) = (parts.pools, parts.services)
        var registry = JobRegistry()
        try AccountLifecycle.registerJobs(
            in: &registry,
            deletions: try services.deletionServices(pool: pools.work, codes: pools.intake, apple: parts.apple),
            credentials: try services.credentialServices(pool: pools.work, apple: parts.apple),
            webSecret: services.webSecretCopy,
            mail: MailCheckJob(
                ResolverConfiguration(servers: settings.mail.resolvers.compactMap { NameServer($0) }),
                relayDomains: settings.mail.relayDomains
            )
        )
        return registry
    }

    private var workerConfiguration: WorkerConfiguration {
        var configuration = WorkerConfiguration(name: ProcessName.own)
        configuration.version = Version.number
        configuration.slots = settings.worker.concurrency
        configuration.pollInterval = settings.worker.pollInterval
        configuration.leaseLifetime = settings.worker.leaseDuration
        configuration.shutdownGrace = settings.worker.shutdownTimeout
        configuration.retention = settings.worker.retention
        return configuration
    }

    /// Records the project and Storage address in the database; in a clone this pauses every deletion before any job is
    /// claimed.
    private func recordUse(_ pool: Pool, _ logger: Logger) async throws {
        let actor = Operator(name: DatabaseUse.workerName, hashKey: try WorkerServices.hashKey(settings))
        let (project, storage) = (settings.database.project, settings.storage.url)
        let reason = try await pool.withConnection { connection in
            try await DatabaseUse.record(project: project, storage: storage, by: actor, on: connection)
        }
        guard let reason else { return }
        logger.error(
            """
            every deletion is paused; after a restore, repeat the list of erasures first: accountctl deletion replay FILE; \
            if this is the right database, resume with: accountctl deletion resume --all
            """,
            metadata: ["reason": "\(reason)"]
        )
    }
}
