import Logging
import Postgres
import Synchronization

/// Heartbeats, and what follows when the table no longer knows the worker.
extension Worker {
    /// Sends heartbeats four times per lease lifetime, and at once when signalled.
    func heartbeats() async {
        let interval = configuration.leaseLifetime / 4
        // The first one has nothing to release, and learns everything else that a heartbeat learns.
        while !Task.isCancelled {
            let isAnswered = await beat()
            let isPressing = !isAnswered || core.withLock { $0.failures > 0 }
            await beatSignal.wait(for: isPressing ? min(interval, .seconds(1)) : interval)
        }
    }

    /// Sends one heartbeat.
    ///
    /// Returns whether it was answered.
    @discardableResult
    func beat() async -> Bool {
        let now = ContinuousClock.now
        let (sent, worker, isStopping) = core.withLock { core in
            (core.book.beat(now: now), core.worker, core.plan.isStopping)
        }
        guard let worker else { return await registerAgain() }
        let beat = JobQueue.Beat(
            worker: worker,
            lifetime: configuration.leaseLifetime,
            // Jobs held under another registration are written, or lost, by their fence; such a job may also be held
            // under this one.
            jobs: sent.jobs.filter { $0.worker == worker },
            isStopping: isStopping,
            releasesUpTo: sent.releasesUpTo
        )
        let queue = self.queue
        do {
            let (answer, ended) = try await control.withConnection { connection in
                let answer = try queue.beat(beat, on: connection)
                let unheld = answer.map { told in beat.jobs.filter { !told.held.contains($0) } } ?? []
                return (answer, try self.endedByHandlers(unheld, on: connection))
            }
            let heard = core.withLock { core in
                core.heard(answer, to: sent, of: worker, ended: ended, now: .now)
            }
            carryOut(heard.stops)
            // The exchange loop sleeps until signalled: while answers were late, it could not claim when it was woken.
            if heard.mayClaimMore { signal.set() }
            // Anyone who read the warnings should also read that heartbeats work again.
            if heard.failedBefore > 0 {
                logger.info("heartbeats succeed again", metadata: ["failed": "\(heard.failedBefore)"])
            }
            guard let answer else {
                logger.error(
                    """
                    this worker was considered lost, or the database was restored to an earlier time: other workers \
                    have its jobs
                    """
                )
                return await registerAgain()
            }
            if answer.released > 0 {
                // They are available now and make room under a limit: nothing else notifies of that.
                wake()
                logger.warning(
                    "released jobs whose claim had been lost",
                    metadata: ["jobs": "\(answer.released)"]
                )
            }
            return true
        } catch {
            logFailure("a heartbeat failed", error)
            return false
        }
    }

    /// Counts and logs a heartbeat that failed, unless the worker ends.
    ///
    /// One in a hundred is a warning: one fails every second, and an outage may last for hours.
    private func logFailure(_ message: Logger.Message, _ error: any Error) {
        guard !Task.isCancelled else { return }
        let times = core.withLock { core in
            core.server.failedBeats += 1
            return core.server.failedBeats
        }
        logger.log(
            level: times % 100 == 1 ? .warning : .debug,
            message,
            metadata: ["error": "\(Verdict.describe(error))", "times": "\(times)"]
        )
    }

    /// Those of these jobs, no longer held, that their handlers ended themselves.
    ///
    /// Each such handler reports that a moment later, and its lease was not lost.
    ///
    /// A session that has the history locked must not void a heartbeat that was written: the result is empty then.
    private func endedByHandlers(_ unheld: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        // Jobs whose outcomes are being written leave the table, too, and no handler is told to stop for them.
        let running = core.withLock { core in unheld.filter { core.book.entries[$0]?.isRunning == true } }
        do {
            return Set(try queue.ended(running, deadline: JobQueue.patience, on: connection).keys)
        } catch is PostgresError {
            return []
        }
    }

    /// Registers under another id, and gives up the jobs that the table shows under the old one, once none of its
    /// handlers runs.
    ///
    /// As long as the lease was trusted, a handler that ignores its cancellation may be in the middle of a call that
    /// nobody else may make at the same time.
    ///
    /// Returns whether the worker has a new id.
    private func registerAgain() async -> Bool {
        let (former, isOver) = core.withLock { core in
            (core.formerWorker, core.plan.running == 0 || !core.book.trusts(now: .now))
        }
        guard isOver else { return false }
        let queue = self.queue
        do {
            if let former {
                try await control.withConnection { try queue.deregister(worker: former, isLost: true, on: $0) }
                core.withLock { $0.formerWorker = nil }
            }
            try await register()
        } catch {
            logFailure("could not register again", error)
            return false
        }
        await attempt("limits of the code") { try await self.syncKindLimits() }
        return true
    }
}
