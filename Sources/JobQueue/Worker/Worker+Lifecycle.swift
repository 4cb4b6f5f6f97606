import Logging
import Metrics
import Postgres
import Synchronization

extension Worker {
    /// Checks what only the server can check, and registers.
    func begin() async throws {
        let zones = Set(registry.periodic.map(\.zone))
        let queue = self.queue
        // Before anything is written, so that a worker that cannot start leaves nothing behind.
        try await control.withConnection { connection in
            for zone in zones { _ = try queue.zoneRules(zone, on: connection) }
        }
        try await register()
        do {
            try await prepare()
        } catch {
            // Otherwise others would believe it alive until its lease expires.
            await uncancelled { await self.leave() }
            throw error
        }
    }

    /// The work before the first claim.
    private func prepare() async throws {
        let queue = self.queue
        // Without the limits, a claim would run more jobs than the code allows.
        try await syncKindLimits(patience: JobQueue.longestSilence * 2)
        try await control.withConnection { connection in
            try queue.renewBeatsAhead(on: connection)
            _ = try queue.promote(on: connection)
        }
        guard core.withLock({ $0.plan.endsWhenIdle }) else { return }
        // The worker could be idle, and end, before its upkeep has run once.
        while core.withLock({ $0.parked.isDue(now: .now) }) {
            for round in parkedRounds() { try await bringBack(round) }
        }
        do {
            try await enqueuePeriodic(try await readZones())
        } catch let error as PostgresError where Settlement.isHeldUp(error) {
            // The periodic work tries again, and logs the failure.
        }
        try await promoteDue()
        await keepHistory()
    }

    /// Registers under a new id, as a new worker to everybody else.
    private func register() async throws {
        let registration = JobQueue.Registration(
            name: configuration.name,
            version: configuration.version,
            slots: configuration.slots,
            lanes: lanes,
            lifetime: configuration.leaseLifetime
        )
        let queue = self.queue
        let (sentAt, (id, serverTime)) = try await control.withConnection { connection in
            let sentAt = ContinuousClock.now
            return (sentAt, try queue.register(registration, on: connection))
        }
        core.withLock { $0.registered(id, serverTime: serverTime, sentAt: sentAt, now: .now) }
        signal.set()
        logger.info("worker registered", metadata: ["worker": "\(id)"])
    }

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
            let (stops, mayClaimMore, failedBefore) = core.withLock { core in
                let couldClaim = core.book.mayClaim(now: .now)
                let failedBefore = core.wasAnswered(serverTime: answer?.serverTime, now: .now)
                guard let answer else {
                    (core.worker, core.formerWorker) = (nil, worker)
                    return (core.book.disowned(sent), false, failedBefore)
                }
                core.server.clock = (answer.serverTime, .now)
                let hasChanged = core.learn(answer.restrictions)
                let stops = core.book.answered(
                    sent,
                    held: answer.held.union(ended),
                    cancelled: answer.cancelled,
                    lastLease: answer.lastLease
                )
                return (stops, hasChanged || (!couldClaim && core.book.mayClaim(now: .now)), failedBefore)
            }
            carryOut(stops)
            // The exchange loop sleeps until signalled: while answers were late, it could not claim when it was woken.
            if mayClaimMore { signal.set() }
            // Anyone who read the warnings should also read that heartbeats work again.
            if failedBefore > 0 {
                logger.info("heartbeats go through again", metadata: ["failed": "\(failedBefore)"])
            }
            guard let answer else {
                logger.error("this worker was taken for lost, or the database went back in time: its jobs are others'")
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
            if !Task.isCancelled {
                core.withLock { $0.server.failedBeats += 1 }
                logger.warning("a heartbeat failed", metadata: ["error": "\(Verdict.describe(error))"])
            }
            return false
        }
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
            logger.warning("could not register again", metadata: ["error": "\(Verdict.describe(error))"])
            return false
        }
        await attempt("limits of the code") { try await self.syncKindLimits() }
        return true
    }

    /// Stops handlers whose deadline has passed or whose lease is lost.
    ///
    /// Returns true once every slot is held by a handler that does not stop: only a new process helps then.
    func watchDeadlines() async -> Bool {
        while !Task.isCancelled {
            let (stops, running, abandoned) = core.withLock { core in
                let told = ContinuousClock.now - configuration.overdueGrace
                return (core.book.tick(now: .now), core.plan.running, core.abandoned(toldBefore: told))
            }
            carryOut(stops)
            metrics.running.record(running)
            metrics.abandoned.record(abandoned)
            guard abandoned < configuration.slots else {
                logger.critical("all slots are held by handlers that do not stop", metadata: ["jobs": "\(abandoned)"])
                core.withLock { $0.abandoned = abandoned }
                return true
            }
            try? await Task.sleep(for: min(.milliseconds(100), configuration.leaseLifetime / 20))
        }
        return false
    }

    /// Tells handlers to stop.
    func carryOut(_ stops: [LeaseBook.Stop]) {
        guard !stops.isEmpty else { return }
        let running = core.withLock { core in
            stops.compactMap { stop in core.jobs[stop.job].map { ($0, stop.reason) } }
        }
        // Stops all of them before logging the first: a log may be slow.
        for (job, reason) in running { job.stop(reason) }
        for (job, reason) in running where reason == .leaseLost {
            metrics.leasesLost.increment()
            logger.warning(
                "lost the lease of a job",
                metadata: ["job": "\(job.job.id)", "kind": "\(job.job.kind)"]
            )
        }
    }

    /// Listens for notifications, which are only hints.
    ///
    /// After each connect everything is checked once, because notifications from before LISTEN were missed. The server
    /// may be another one now, on which nothing is claimed before a heartbeat has shown that.
    func listen(_ listener: JobListener) async {
        await listener.run(for: queue) { event in
            switch event {
            case .connected:
                self.wake()
                self.beatSignal.set()
            case .note(JobTables.beatNote): self.beatSignal.set()
            case .note: self.wake()
            }
        }
    }
}
