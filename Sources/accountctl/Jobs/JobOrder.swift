import AccountLifecycle
import JobQueue

/// A job that an operator wants to add.
struct JobOrder: Sendable {
    let job: NewJob
    /// How long the job waits, by the server's clock; nil if it has a time of its own or runs now.
    let wait: Duration?

    /// Checks the job's version and arguments if its kind is ours; workers of others may know any version and arguments
    /// of their own kinds.
    ///
    /// - Throws: `JobQueueError` that names `argumentsVersion` or `arguments` if our workers could not read them: they
    ///   would set the job aside, and its unique key would keep the right job from being added; or `for` if the wait is
    ///   out of range.
    init(_ job: NewJob, wait: Duration?) throws(JobQueueError) {
        if let wait { try JobQueue.check(wait: wait) }
        if let known = AccountLifecycle.versions[job.kind], job.argumentsVersion > known {
            throw JobQueueError(
                .invalidField,
                field: "argumentsVersion",
                "argumentsVersion must not exceed \(known), the newest that is known of \(job.kind)"
            )
        }
        if let problem = AccountLifecycle.problem(withArgumentsOf: job) { throw problem }
        self.job = job
        self.wait = wait
    }

    /// The default queue of a kind: the kind's own, or `default` for a kind that is not ours.
    static func queue(of kind: String) -> String {
        AccountLifecycle.queues[kind] ?? "default"
    }
}
