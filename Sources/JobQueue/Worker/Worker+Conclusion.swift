import Logging
import Metrics
import Postgres
import Synchronization

/// The end of an exchange with the table.
extension Worker {
    /// Settles the written outcomes, and starts the handlers of the claimed jobs.
    ///
    /// Returns the jobs that arrived too late to be run.
    func conclude(
        _ exchange: Exchange,
        _ progress: ExchangeProgress,
        _ failure: (any Error)?
    ) -> [ClaimedJob] {
        var isInDoubt = false
        if let failure = failure as? PostgresError { isInDoubt = !failure.outcomeKnown }
        settled(exchange.batch, progress.written, isInDoubt: isInDoubt)
        let (plain, limited) = progress.claims
        let unused = began(plain, limited, of: exchange, wanted: exchange.wanted(after: progress.written))
        if let failure {
            failed(failure)
        } else {
            let hadFailed = core.withLock { core in
                defer { (core.failures, core.plan.pausedUntil) = (0, nil) }
                return core.failures > 0
            }
            // The server may be another one now that has lost some writes: a heartbeat checks at once what is held
            // there.
            if hadFailed { beatSignal.set() }
        }
        if let error = progress.limitFailure {
            limitsFailed(error)
        } else if limited != nil {
            core.withLock { $0.limitFailures = 0 }
        }
        return unused
    }

    private func limitsFailed(_ error: PostgresError) {
        guard !Task.isCancelled else { return }
        let failures = core.withLock { core in
            core.limitsWereHeld(now: .now, random: .random(in: 0.5...1))
            return core.limitFailures
        }
        logger.log(
            level: failures % 100 == 3 ? .error : .debug,
            "jobs under limits could not be claimed",
            metadata: ["error": "\(Verdict.describe(error))", "failures": "\(failures)"]
        )
    }

    /// Settles the jobs that were written, or can no longer be; the others wait for the next exchange.
    func settled(_ batch: [FinishedJob], _ written: Settlement.Written, isInDoubt: Bool) {
        guard !batch.isEmpty else { return }
        let done = batch.filter { written.isSettled($0.job.leased) }
        var locked: [FinishedJob] = []
        var open: [FinishedJob] = []
        if done.count < batch.count {
            open = batch.filter { !written.isSettled($0.job.leased) }
            locked = open.filter { written.locked.contains($0.job.leased) }
            open.removeAll { written.locked.contains($0.job.leased) }
        }
        core.withLock { [open, locked] core in
            core.putBack(open, isInDoubt: isInDoubt)
            core.setAside(locked, now: .now)
            core.wrote(done, now: .now)
            // A job that was woken while it ran, or was handed back, is available at once.
            if written.hasGivenBack { core.plan.wake() }
        }
        // All leases may be lost, which a heartbeat finds out: behind a pooler nothing else shows a failover.
        if !written.lost.isEmpty { beatSignal.set() }
        for finished in locked where !finished.wasLocked {
            logger.warning(
                "an outcome waits for a row that another session has locked",
                metadata: ["job": "\(finished.job.id)", "kind": "\(finished.job.kind)"]
            )
        }
        for finished in done { report(finished, written) }
        for (job, error) in written.mended {
            logger.error(
                "part of an outcome could not be stored",
                metadata: ["job": "\(job.id)", "error": "\(error)"]
            )
        }
    }

    /// Counts an outcome that was written or lost, and logs what somebody should know of.
    private func report(_ finished: FinishedJob, _ written: Settlement.Written) {
        let job = finished.job
        func about(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
            var told: Logger.Metadata = ["job": "\(job.id)", "kind": "\(job.kind)"]
            told.merge(more) { $1 }
            return told
        }
        if written.lost.contains(job.leased) {
            if finished.isInDoubt {
                // The first statement may have written an outcome, such as a retry, that leaves no trace of the lease.
                logger.notice(
                    "an outcome was written by a statement whose answer was lost, or came after its lease was lost",
                    metadata: about()
                )
            } else {
                metrics.leasesLost.increment()
                logger.warning("an outcome came after its lease was lost and was not written", metadata: about())
            }
            return
        }
        let end = written.ended[job.leased]
        metrics.finished(job.kind, finished.verdict, endedAs: end)
        // Otherwise the job did not end by its verdict.
        guard end == nil else { return }
        switch finished.verdict {
        case .giveBack(let next) where next.isExhausted:
            logger.error("a job that must not be given up used up its usual attempts", metadata: about())
        // A job parked for a newer release is usually soon taken by that.
        case .park("undecodable", let failure):
            logger.error(
                "a job was set aside and waits for an operator, or for another release",
                metadata: about(["error": "\(failure.error)"])
            )
        case .end(.discarded, _, let reason, _):
            logger.warning("a job was discarded", metadata: about(["reason": "\(reason ?? "")"]))
        default: break
        }
    }

    /// Starts the handlers of claimed jobs, and returns the jobs that arrived too late to be run.
    private func began(
        _ plain: PlainClaim?,
        _ limited: LimitedClaim?,
        of exchange: Exchange,
        wanted: Int
    ) -> [ClaimedJob] {
        guard let number = exchange.number else { return [] }
        let jobs =
            (limited.map { running($0.jobs, since: $0.sentAt) } ?? [])
            + (plain.map { running($0.jobs, since: $0.sentAt) } ?? [])
        let now = ContinuousClock.now
        let mayRun = core.withLock { core in
            core.claimed(plain, limited, of: exchange, wanted: wanted, now: now)
            return core.begins(jobs, under: number, sentIn: exchange.generation, now: now)
        }
        // Otherwise the next heartbeat or the rescue would hand them back.
        guard mayRun else { return jobs.map(\.job) }
        for job in jobs {
            if let kind = metrics.kinds[job.job.kind] { kind.wait.recordMicroseconds(job.job.waited) }
            job.start { await self.perform(job) }
        }
        return []
    }

    /// The running jobs of a claim.
    ///
    /// Their time starts when the claim's statement was sent: before that, the claim may have waited long for a
    /// connection, or behind outcomes.
    private func running(_ jobs: [ClaimedJob], since sentAt: ContinuousClock.Instant) -> [RunningJob] {
        jobs.map { job in
            RunningJob(job: job, startedAt: sentAt, timeout: registry.entries[job.kind]?.timeout ?? .seconds(60))
        }
    }
}
