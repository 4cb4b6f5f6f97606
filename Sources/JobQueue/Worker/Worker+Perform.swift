import Logging
import Metrics
import Postgres
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Worker {
    /// Runs one job's handler and records its outcome.
    func perform(_ running: RunningJob) async {
        let job = running.job
        guard let entry = registry.entries[job.kind] else {
            return done(running, .release, hasLimit: false)
        }
        if let verdict = Self.verdictBeforeRun(job, entry, facts(job, entry)) {
            return done(running, verdict, hasLimit: entry.limit != nil)
        }
        var logger = self.logger
        logger[metadataKey: "job"] = "\(job.id)"
        logger[metadataKey: "kind"] = "\(job.kind)"
        logger[metadataKey: "attempt"] = "\(job.attempt)"
        let context = JobContext(
            running: running,
            queue: queue,
            trust: { [self] in core.withLock { $0.book.trust(in: job.leased) } },
            serverTime: { [self] in core.withLock { $0.server.time(now: .now) } ?? .distantPast },
            pool: pool,
            logger: logger
        )
        let result: Result<JobOutcome, any Error>
        var isInDoubt = false
        do {
            result = .success(try await entry.run(job, context))
        } catch {
            result = .failure(error)
            // Its own transaction may have ended the job.
            isInDoubt = (error as? PostgresError)?.outcomeKnown == false
        }
        let verdict = Verdict.of(result, stop: running.stopReason, facts(job, entry))
        metrics.kinds[job.kind]?.run.record(duration: ContinuousClock.now - running.startedAt)
        if case .success(.completedInTransaction) = result {
            // The handler's transaction has already written it.
            metrics.finished(job.kind, .end(.completed))
        }
        done(running, verdict, hasLimit: entry.limit != nil, isInDoubt: isInDoubt)
    }

    private func facts(_ job: ClaimedJob, _ entry: JobRegistry.Entry) -> Verdict.Facts {
        // Only a registered worker claims jobs, and it knows the server's time.
        let now = core.withLock { $0.server.time(now: .now) } ?? .distantPast
        return Verdict.Facts(
            attempt: job.attempt,
            maxAttempts: job.maxAttempts,
            retry: entry.retry,
            timeout: entry.timeout,
            now: now,
            random: Double.random(in: 0..<1)
        )
    }

    /// The verdict if it is clear without calling the handler.
    static func verdictBeforeRun(_ job: ClaimedJob, _ entry: JobRegistry.Entry, _ facts: Verdict.Facts) -> Verdict? {
        if job.isCancelled { return .end(.cancelled, reason: "cancelled before it ran again") }
        if job.crashes >= entry.crashLimit { return Verdict.crashed(job.crashes, facts) }
        // Some attempts ended without a verdict, such as those whose handlers never stopped.
        if entry.retry.hasLastAttempt, Int(job.attempt) > job.maxAttempts.map(Int.init) ?? entry.retry.attempts {
            return .end(.discarded, reason: "its attempts are used up", failure: facts.failure("attempts used up"))
        }
        return nil
    }

    private func done(_ running: RunningJob, _ verdict: Verdict, hasLimit: Bool, isInDoubt: Bool = false) {
        let (looks, isLastOfFormer) = core.withLock { core in
            let looks = core.done(running, verdict, hasLimit: hasLimit, isInDoubt: isInDoubt, now: .now)
            return (looks, core.formerWorker != nil && core.plan.running == 0)
        }
        if looks { signal.set() }
        if isLastOfFormer { beatSignal.set() }
    }
}
