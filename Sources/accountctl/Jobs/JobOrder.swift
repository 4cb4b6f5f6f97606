import AccountLifecycle
import JobQueue

/// A job that an operator asks for.
struct JobOrder: Sendable {
    let job: NewJob
    /// How long it waits, by the server's clock; nil where its time is given, or is now.
    let wait: Duration?

    /// Of a kind that is not ours any version and form of arguments may be known to others.
    ///
    /// - Throws: `JobQueueError` that names `argumentsVersion`, or `arguments`, where no worker of ours could read them:
    ///   the job would be set aside, and its unique key keep the right one out; and `for` where the wait is out of
    ///   bounds.
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

    /// The queue that jobs of a kind go to where none is named: the kind's own, or `default` for a kind that is not
    /// ours.
    static func queue(of kind: String) -> String {
        AccountLifecycle.queues[kind] ?? "default"
    }
}
