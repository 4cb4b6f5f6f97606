import Logging
import Metrics
import Postgres
import Synchronization

/// The end of an exchange with the table.
extension Worker {
    /// Takes leave of what was written, and starts the handlers of what was claimed.
    ///
    /// Returns the jobs that came too late to be run.
    func conclude(
        _ exchange: Exchange,
        _ progress: ExchangeProgress,
        _ failure: (any Error)?
    ) -> [ClaimedJob] {
        var isInDoubt = false
        if let failure = failure as? PostgresError { isInDoubt = !failure.outcomeKnown }
        settled(exchange.batch, progress.written, isInDoubt: isInDoubt)
        let (plain, limited) = progress.claims
        let unused = began(plain, limited: limited, of: exchange, progress)
        if let failure {
            failed(failure)
        } else {
            let hadFailed = core.withLock { core in
                defer { (core.failures, core.plan.pausedUntil) = (0, nil) }
                return core.failures > 0
            }
            // It may be another server now, which knows less: what is held there is asked at once.
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

    /// Takes leave of the jobs that were written, or can no longer be; the others wait for the next exchange.
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
            // Woken while it ran, or handed back: it waits for nothing.
            if written.hasGivenBack { core.plan.wake() }
        }
        // Perhaps all are: behind a pooler a failover shows in nothing else.
        if !written.lost.isEmpty { beatSignal.set() }
        for finished in locked where !finished.wasLocked {
            logger.warning(
                "an outcome waits for a row that another session has locked",
                metadata: ["job": "\(finished.job.id)", "kind": "\(finished.job.kind)"]
            )
        }
        for finished in done {
            if written.lost.contains(finished.job.leased), finished.isInDoubt {
                // Such as a retry, which leaves no trace of the lease.
                logger.notice(
                    "an outcome was written by a statement whose answer was lost, or came after its lease was lost",
                    metadata: ["job": "\(finished.job.id)", "kind": "\(finished.job.kind)"]
                )
            } else if written.lost.contains(finished.job.leased) {
                metrics.leasesLost.increment()
                logger.warning(
                    "an outcome came after its lease was lost and was not written",
                    metadata: ["job": "\(finished.job.id)", "kind": "\(finished.job.kind)"]
                )
            } else {
                let isCancelled = written.cancelled.contains(finished.job.leased)
                metrics.finished(finished.job.kind, finished.verdict, isCancelled: isCancelled)
                if case .giveBack(let next) = finished.verdict, next.isExhausted, !isCancelled {
                    logger.error(
                        "a job that must not be given up used up its usual attempts",
                        metadata: ["job": "\(finished.job.id)", "kind": "\(finished.job.kind)"]
                    )
                }
            }
        }
        for (job, error) in written.mended {
            logger.error(
                "part of an outcome could not be stored",
                metadata: ["job": "\(job.id)", "error": "\(error)"]
            )
        }
    }

    /// Starts the handlers of claimed jobs, and returns those that came too late to be run.
    private func began(
        _ plain: PlainClaim?,
        limited: LimitedClaim?,
        of exchange: Exchange,
        _ progress: ExchangeProgress
    ) -> [ClaimedJob] {
        guard let number = exchange.number else { return [] }
        let plainJobs = plain?.jobs ?? []
        let claimed = (limited?.jobs ?? []) + plainJobs
        // Full in either part: there may be more. Half of the slots is what lanes under limits get at once.
        let asked = exchange.wanted(after: progress.written)
        let isFull = claimed.count >= asked || (claimed.count - plainJobs.count) * 2 >= asked
        let jobs =
            (limited.map { running($0.jobs, since: $0.sentAt) } ?? [])
            + (plain.map { running($0.jobs, since: $0.sentAt) } ?? [])
        let wasBounded = exchange.request?.bounds != nil
        let mayRun = core.withLock { core in
            switch exchange.scope {
            case .suspects:
                if let suspect = claimed.first {
                    core.suspects.took(suspect.leased)
                } else {
                    core.suspects.noneLeft(now: exchange.sentAt)
                }
            case .all, .urgent:
                // A claim of urgent jobs says nothing about where the others begin.
                if exchange.scope == .all, let plain {
                    core.bounds.claimed(
                        plainJobs,
                        isFull: isFull,
                        wasBounded: wasBounded,
                        took: plain.took,
                        now: exchange.sentAt
                    )
                }
                // Nor is it the full look that is due; but where it was cut short, the next one continues from it.
                let limitedWasBounded = exchange.limitedBounds != nil
                if let limited, exchange.scope == .all || limitedWasBounded || limited.isCut {
                    core.limitedBounds.claimed(
                        limited,
                        wasBounded: limitedWasBounded,
                        now: exchange.sentAt,
                        endedAt: .now
                    )
                }
                if isFull || limited?.isCut == true { core.plan.leftSome(of: exchange.scope) }
                core.plan.claimed(plainJobs.count, isCut: plain?.isCut ?? false, now: .now)
                // A bounded claim that came back short has not looked at everything.
                if wasBounded, !isFull { core.plan.looks(at: core.bounds.nextFullScan ?? .now) }
            }
            let mayRun = core.book.claimReturned(
                number,
                jobs.map { (job: $0.job.leased, deadline: $0.deadline) },
                sentIn: exchange.generation,
                now: .now
            )
            guard mayRun else { return false }
            for job in jobs { core.jobs[job.job.leased] = job }
            core.plan.running += jobs.count
            return true
        }
        // The next heartbeat, or the rescue, would hand them back too.
        guard mayRun else { return claimed }
        for job in jobs {
            if let kind = metrics.kinds[job.job.kind] { kind.wait.recordMicroseconds(job.job.waited) }
            job.start { await self.perform(job) }
        }
        return []
    }

    /// The jobs of a claim, whose time began when it was sent: before that it may have waited long for a connection, or
    /// behind outcomes.
    private func running(_ jobs: [ClaimedJob], since sentAt: ContinuousClock.Instant) -> [RunningJob] {
        jobs.map { job in
            RunningJob(job: job, startedAt: sentAt, timeout: registry.entries[job.kind]?.timeout ?? .seconds(60))
        }
    }
}
