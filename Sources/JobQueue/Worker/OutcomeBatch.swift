/// The outcomes of several jobs, grouped by the statement that writes them.
struct OutcomeBatch: Sendable {
    /// Jobs that end, by outcome.
    private(set) var completed = JobQueue.Ending(outcome: .completed)
    private(set) var cancelled = JobQueue.Ending(outcome: .cancelled)
    private(set) var discarded = JobQueue.Ending(outcome: .discarded)
    /// Jobs that will run again, or are parked.
    private(set) var returned: [JobQueue.Return] = []
    /// Jobs to hand back as if they had not been claimed.
    private(set) var released: [JobLease] = []
    /// Jobs about which nothing is to be written.
    private(set) var silent: Set<JobLease> = []

    /// Groups the outcomes of these jobs.
    ///
    /// - Throws: `EncodingError`.
    init(_ jobs: [FinishedJob]) throws {
        completed.reserveCapacity(jobs.count)
        for finished in jobs { try add(finished) }
    }

    private mutating func add(_ finished: FinishedJob) throws {
        let job = finished.job.leased
        switch finished.verdict {
        case .end(let outcome, let output, let reason, let failure):
            let failure = try failure.map { try JobDocument(encoding: $0) }
            let reason = try reason.map { try JobDocument(encoding: $0) }
            switch outcome {
            case .completed: completed.add(job, output: output, reason: reason, failure: failure)
            case .cancelled: cancelled.add(job, output: output, reason: reason, failure: failure)
            case .discarded: discarded.add(job, output: output, reason: reason, failure: failure)
            }
        case .giveBack(var next):
            // It ran, alone at first, and its process survived: the earlier death had another cause.
            if next.crashes == nil, finished.job.crashes > 0 { next.crashes = 0 }
            returned.append(try JobQueue.Return(job, next))
        case .park(let reason, let failure):
            let next = NextTurn(givesAttemptBack: true, failure: failure)
            returned.append(try JobQueue.Return(job, next, parkedFor: reason))
        case .release: released.append(job)
        case .nothing: silent.insert(job)
        }
    }
}

extension JobQueue.Ending {
    /// The ending of jobs that could not be given back because they were to be cancelled, if they are still held at
    /// all.
    static func cancelled(insteadOf returns: [JobQueue.Return]) throws -> JobQueue.Ending {
        let reason = try JobDocument(encoding: "cancelled while running")
        var ending = JobQueue.Ending(outcome: .cancelled)
        for back in returns {
            ending.add(back.job, reason: reason, failure: back.failure)
        }
        return ending
    }
}
