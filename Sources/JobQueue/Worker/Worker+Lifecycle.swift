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
        await renewWaits()
        try await promoteDue()
        await keepHistory()
    }

    /// Registers under a new id, as a new worker to everybody else.
    func register() async throws {
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
