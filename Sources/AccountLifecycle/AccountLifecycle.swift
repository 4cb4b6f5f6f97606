package import JobQueue
package import Postgres

/// The life of accounts: what a worker needs to know to run all of it.
package enum AccountLifecycle {
    /// The queue of each kind of jobs that a worker carries out.
    package static let queues = kinds.mapValues(\.queue)

    /// The newest form of arguments that is known of each of these kinds.
    package static let versions = kinds.mapValues(\.version)

    /// Why no worker of this release could read the arguments of a job; nil where one can, or where the kind is none of
    /// ours.
    package static func problem(withArgumentsOf job: NewJob) -> JobQueueError? {
        kinds[job.kind]?.problem(job)
    }

    /// What is asked about a kind whose arguments have any form.
    private struct KindFacts: Sendable {
        let queue: String
        let version: Int16
        let problem: @Sendable (NewJob) -> JobQueueError?
    }

    private static let kinds: [String: KindFacts] = Dictionary(
        uniqueKeysWithValues: [
            facts(DeletionJobs.delete), facts(DeletionJobs.exchange), facts(DeletionJobs.revocations),
            facts(DeletionJobs.upkeep), facts(CredentialJobs.handle), facts(CredentialJobs.sweepEvents),
            facts(CredentialJobs.check), facts(CredentialJobs.inbox), facts(WebSecretReminder.kind),
            facts(MailCheckJob.check), facts(MailCheckJob.schedule),
        ]
    )

    private static func facts(_ kind: JobKind<some Codable & Sendable>) -> (String, KindFacts) {
        let facts = KindFacts(queue: kind.queue, version: kind.version) { kind.problem(withArgumentsOf: $0) }
        return (kind.name, facts)
    }

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
