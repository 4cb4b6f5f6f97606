package import JobQueue
package import Postgres

/// The life of accounts: what a worker needs to know to run all of it.
package enum AccountLifecycle {
    /// The kinds of jobs that a worker carries out, and the queue of each.
    package static let queues: [String: String] = [
        DeletionJobs.delete.name: DeletionJobs.delete.queue,
        DeletionJobs.exchange.name: DeletionJobs.exchange.queue,
        DeletionJobs.revocations.name: DeletionJobs.revocations.queue,
        DeletionJobs.upkeep.name: DeletionJobs.upkeep.queue,
        CredentialJobs.handle.name: CredentialJobs.handle.queue,
        CredentialJobs.sweepEvents.name: CredentialJobs.sweepEvents.queue,
        CredentialJobs.check.name: CredentialJobs.check.queue,
        CredentialJobs.inbox.name: CredentialJobs.inbox.queue,
        WebSecretReminder.kind.name: WebSecretReminder.kind.queue,
        MailCheckJob.check.name: MailCheckJob.check.queue,
        MailCheckJob.schedule.name: MailCheckJob.schedule.queue,
    ]

    /// The jobs that workers add again and again; some only where what they look after is set.
    package static func periodic() throws -> [PeriodicJob] {
        let single = [try WebSecretReminder.periodic(), try MailCheckJob.periodic()]
        return try DeletionJobs.periodic() + CredentialJobs.periodic() + single
    }

    /// The queue in which authorization codes are exchanged, which live for five minutes.
    package static let queueOfCodes = DeletionJobs.exchange.queue

    /// That the product's own tables are there, as an expression.
    static let isThere: Statement = "to_regclass('accountctl.deletion_requests') is not null"

    /// Whether the product's own tables are there.
    ///
    /// - Throws: `PostgresError`.
    package static func isInstalled(on connection: isolated Connection) throws -> Bool {
        try connection.one("select \(isThere)", as: Bool.self)
    }

    /// Registers the handlers and periodic jobs of every kind in ``queues``, but for what is not configured.
    ///
    /// - Parameters:
    ///   - registry: where.
    ///   - deletions: what deletions use.
    ///   - credentials: what following Apple's credentials uses; nil without Sign in with Apple.
    ///   - webSecret: the copy of the secret to remind of; nil where there is none.
    ///   - mail: the checks of mail streams.
    /// - Throws: ``JobQueueError`` when one of the kinds is registered already.
    package static func registerJobs(
        in registry: inout JobRegistry,
        deletions: DeletionServices,
        credentials: CredentialServices?,
        webSecret: WebSecretCopy?,
        mail: MailCheckJob
    ) throws {
        try DeletionJobs.register(in: &registry, services: deletions)
        if let credentials { try CredentialJobs.register(in: &registry, services: credentials) }
        if let webSecret { try WebSecretReminder(webSecret).register(in: &registry) }
        try mail.register(in: &registry)
    }
}
