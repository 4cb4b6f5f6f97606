package import JobQueue
package import Postgres

/// The account lifecycle: what a worker needs to know to run all of its jobs.
package enum AccountLifecycle {
    /// The queue of each kind of job that a worker carries out.
    package static let queues = kinds.mapValues(\.queue)

    /// The newest argument version that this release knows for each of these kinds.
    package static let versions = kinds.mapValues(\.version)

    /// Why no worker of this release could read a job's arguments; nil if one can, or if the kind is not one of ours.
    package static func problem(withArgumentsOf job: NewJob) -> JobQueueError? {
        kinds[job.kind]?.problem(job)
    }

    /// What callers ask about a kind, with its argument type erased.
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

    /// The jobs that workers add periodically; some need settings that a project may not have.
    package static func periodic() throws -> [PeriodicJob] {
        let single = [try WebSecretReminder.periodic(), try MailCheckJob.periodic()]
        return try DeletionJobs.periodic() + CredentialJobs.periodic() + single
    }

    /// The queue in which authorization codes are exchanged; a code lives for five minutes.
    package static let queueOfCodes = DeletionJobs.exchange.queue

    /// An SQL expression: whether the product's own tables exist.
    static let isThere: Statement = "to_regclass('accountctl.deletion_requests') is not null"

    /// Whether the product's own tables exist.
    ///
    /// - Throws: `PostgresError`.
    package static func isInstalled(on connection: isolated Connection) throws -> Bool {
        try connection.one("select \(isThere)", as: Bool.self)
    }

    /// Registers the handlers and periodic jobs of every kind in ``queues``, except those that are not configured.
    ///
    /// - Parameters:
    ///   - registry: the registry to add them to.
    ///   - deletions: what deletions use.
    ///   - credentials: what the jobs that follow Apple's credentials use; nil without Sign in with Apple.
    ///   - webSecret: the copy of the client secret whose expiry is to be announced; nil if there is none.
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
