/// The kinds that a worker runs, with their handlers, and its periodic jobs.
package struct JobRegistry: Sendable {
    /// Runs one attempt at a job.
    ///
    /// A handler is cancelled at its deadline, when the job is cancelled, at shutdown, and when its lease is lost.
    /// Heartbeats share its threads, of which there are as many as processors: code that blocks for long, or computes
    /// without an await, belongs on a thread of its own.
    ///
    /// To test a handler, enqueue a job in a database of the test and run it with ``Worker/runUntilIdle()``.
    package typealias Handler<Arguments> = @Sendable (Arguments, JobContext) async throws -> JobOutcome

    struct Entry: Sendable {
        let kind: String
        let queue: String
        let version: Int16
        let isUrgent: Bool
        let timeout: Duration
        let retry: RetryPolicy
        let crashLimit: Int
        let limit: JobQueue.KindLimit?
        let run: @Sendable (ClaimedJob, JobContext) async throws -> JobOutcome
    }

    private(set) var entries: [String: Entry] = [:]
    private(set) var periodic: [PeriodicJob] = []

    package init() {}

    /// Adds a kind and its handler.
    ///
    /// - Throws: ``JobQueueError``: `invalidField` naming the invalid field of the kind, `duplicateKind`.
    package mutating func register<Arguments>(
        _ kind: JobKind<Arguments>,
        handler: @escaping Handler<Arguments>
    ) throws(JobQueueError) {
        try kind.check()
        guard entries[kind.name] == nil else {
            throw JobQueueError(.duplicateKind, field: "kind", "kind \(kind.name) is registered already")
        }
        let limits = kind.limits
        let hasLimit = limits.running != nil || limits.runningPerKey != nil
        entries[kind.name] = Entry(
            kind: kind.name,
            queue: kind.queue,
            version: kind.version,
            isUrgent: kind.isUrgent,
            timeout: kind.timeout,
            retry: kind.retry,
            crashLimit: kind.crashLimit,
            limit: hasLimit
                ? JobQueue.KindLimit(kind: kind.name, running: limits.running, runningPerKey: limits.runningPerKey)
                : nil,
            run: { job, context in
                let document = JobDocument(uncheckedJSON: job.arguments)
                let arguments = try kind.decode(document, version: job.argumentsVersion)
                return try await handler(arguments, context)
            }
        )
    }

    /// Adds a periodic job.
    ///
    /// - Throws: ``JobQueueError``: `duplicateKind` if the name is already registered.
    package mutating func schedule(_ job: PeriodicJob) throws(JobQueueError) {
        guard !periodic.contains(where: { $0.name == job.name }) else {
            throw JobQueueError(.duplicateKind, field: "name", "periodic job \(job.name) is registered already")
        }
        periodic.append(job)
    }

    /// The lanes of the kinds, each in its queue.
    var lanes: [Lane] {
        entries.values
            .map { entry in
                Lane(
                    queue: entry.queue,
                    kind: entry.kind,
                    version: entry.version,
                    isUrgent: entry.isUrgent,
                    timeout: entry.timeout
                )
            }
            .sorted { ($0.queue, $0.kind) < ($1.queue, $1.kind) }
    }
}
