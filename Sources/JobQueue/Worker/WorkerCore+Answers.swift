/// What the server's answers mean for judging other workers.
extension WorkerCore {
    /// Records that the worker was registered by a statement sent at `sentAt`, when the server's clock said
    /// `serverTime`.
    mutating func registered(_ id: Int64, serverTime: Int64, sentAt: Instant, now: Instant) {
        worker = id
        server.told(serverTime, now: now)
        book.registered(sentAt: sentAt)
        // The database may have been unreachable for all workers, and back only since this moment.
        server.answeredSince = now
        plan.wake()
    }

    /// What follows from the answer to a heartbeat.
    struct Heard: Sendable {
        /// The handlers to stop.
        var stops: [LeaseBook.Stop] = []
        /// Whether jobs may be claimable now that were not before.
        var mayClaimMore = false
        /// How many heartbeats failed before it.
        let failedBefore: Int
    }

    /// Records the answer to a heartbeat of `worker`, nil if the server no longer knows this worker.
    ///
    /// `ended` are the jobs that their handlers ended themselves.
    mutating func heard(
        _ answer: JobQueue.BeatAnswer?,
        to sent: LeaseBook.SentBeat,
        of worker: Int64,
        ended: Set<JobLease>,
        now: Instant
    ) -> Heard {
        let couldClaim = book.mayClaim(now: now)
        var heard = Heard(failedBefore: wasAnswered(serverTime: answer?.serverTime, now: now))
        guard let answer else {
            (self.worker, formerWorker) = (nil, worker)
            heard.stops = book.disowned(sent)
            return heard
        }
        server.told(answer.serverTime, now: now)
        let hasChanged = learn(answer.restrictions)
        heard.stops = book.answered(
            sent,
            held: answer.held.union(ended),
            cancelled: answer.cancelled,
            lastLease: answer.lastLease
        )
        heard.mayClaimMore = hasChanged || (!couldClaim && book.mayClaim(now: now))
        return heard
    }

    /// Records that a heartbeat was answered, before the book of leases is updated.
    ///
    /// `serverTime` is the server's time, nil if the server no longer knows this worker.
    ///
    /// Returns how many heartbeats failed before it.
    mutating func wasAnswered(serverTime: Int64?, now: Instant) -> Int {
        // The last answer that other workers got may be a quarter of a lease older than this worker's, so their leases
        // may be about to expire. They expire by the server's clock, which may have been set.
        let half = book.lifetime / 2 + server.leap(to: serverTime, now: now)
        if !book.trusts(now: now.advanced(by: half)) { server.answeredSince = now }
        defer { server.failedBeats = 0 }
        return server.failedBeats
    }

    /// Whether this worker may declare others, and itself, lost.
    ///
    /// It may not while it was cut off from the database or suspended for so long that it may not claim, and not right
    /// after it started or after half of a lease without an answer: other workers cut off with it are alive, and about
    /// to send heartbeats and write their outcomes. Declared lost, they would count a crash for each job that they run,
    /// and work that is done would be done again.
    ///
    /// What counts is the time since the last answer, not heartbeats that failed or succeeded: one may have waited for
    /// a connection all that time; and even if every second one fails, dead workers have to be found.
    func mayRescue(now: Instant) -> Bool {
        guard book.mayClaim(now: now) else { return false }
        return server.answeredSince.map { $0.advanced(by: book.lifetime / 4) <= now } ?? true
    }
}
