/// What is written about several jobs, in parts that take a statement each.
struct OutcomeBatch: Sendable {
    /// Jobs that end, by how they do.
    private(set) var completed = JobQueue.Ending(outcome: .completed)
    private(set) var cancelled = JobQueue.Ending(outcome: .cancelled)
    private(set) var discarded = JobQueue.Ending(outcome: .discarded)
    /// Jobs that go on.
    private(set) var returned: [JobQueue.Return] = []
    /// Jobs that go back as if they had not been claimed.
    private(set) var released: [JobLease] = []
    /// Jobs of which nothing is to be written.
    private(set) var silent: Set<JobLease> = []

    /// Parts what is to be written about these jobs.
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
            // It ran, alone at first, and its process lives: what died before died of something else.
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
    /// The end of jobs that could not be given back since they were to be cancelled, if they are held at all.
    static func cancelled(insteadOf returns: [JobQueue.Return]) throws -> JobQueue.Ending {
        let reason = try JobDocument(encoding: "cancelled while running")
        var ending = JobQueue.Ending(outcome: .cancelled)
        for back in returns {
            ending.add(back.job, reason: reason, failure: back.failure)
        }
        return ending
    }
}
