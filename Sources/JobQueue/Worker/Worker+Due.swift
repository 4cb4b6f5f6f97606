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
    /// Polls for jobs, so that progress never depends on a notification.
    func poll() async {
        while await pause(configuration.pollInterval) { wake() }
    }

    /// Does the work that only time triggers: due, lost and overdue jobs, and periodic ones.
    ///
    /// Runs at its own pace, however rarely the worker polls, and over connections that no handler holds: the code of a
    /// sign-in, whose next attempt is a few seconds away, is worthless after five minutes.
    func runDueWork() async {
        let clock = ContinuousClock()
        let rescueInterval = configuration.rescueInterval
        let usual = min(configuration.pollInterval, rescueInterval)
        let queues = Set(lanes.map(\.queue))
        var zones: [String: ZoneRules] = [:]
        var zonesReadAt: ContinuousClock.Instant?
        // A worker that ends when idle has done this before it started.
        let hasLooked = core.withLock { $0.plan.endsWhenIdle }
        var nextRescue = hasLooked ? clock.now.advanced(by: rescueInterval) : clock.now
        var promotion = JobQueue.Promotion()
        while !Task.isCancelled {
            let now = clock.now
            let looksAtAll = nextRescue <= now || promotion.isCut
            promotion = await attempt("promote") { try await self.promoteDue(lookingAtAll: looksAtAll) } ?? .init()
            if nextRescue <= now {
                nextRescue = now.advanced(by: rescueInterval)
                // Each on its own, so that the failure of one does not stop the next.
                await attempt("rescue") { try await self.rescueLost() }
                await renewWaits()
                await attempt("overdue") { try await self.takeOverdue() }
                await attempt("limits of the code") { try await self.syncKindLimits() }
            }
            for round in parkedRounds() {
                await attempt(round.reason.rawValue) { try await self.bringBack(round) }
            }
            if zonesReadAt.map({ $0.advanced(by: .seconds(86_400)) <= now }) ?? true,
                let read = await attempt("zones", { try await self.readZones() })
            {
                zones = read
                zonesReadAt = now
            }
            let rules = zones
            await attempt("periodic") { try await self.enqueuePeriodic(rules) }
            // Jobs that a rate holds back become claimable with time alone, within a second at the earliest.
            let isRated = core.withLock { !$0.restrictions.ratedQueues.isDisjoint(with: queues) }
            if isRated { wake() }
            let longest = isRated ? min(usual, .milliseconds(500)) : usual
            let nextDue = promotion.isCut ? 0 : promotion.nextIn
            let due = nextDue.map { max(Self.promotionPause, .microseconds($0)) } ?? longest
            let left = core.withLock { $0.parked.isDue(now: .now) } ? .milliseconds(1) : due
            guard left < longest else {
                guard await pause(longest) else { return }
                continue
            }
            guard (try? await Task.sleep(for: left)) != nil else { return }
        }
    }

    /// Sleeps for about that long, randomized so that many workers do not act at once; returns false when the worker
    /// ends.
    func pause(_ interval: Duration) async -> Bool {
        (try? await Task.sleep(for: interval * Double.random(in: 0.8...1.2))) != nil
    }

    /// Jobs that become due in quick succession are promoted together: a statement and a commit for each would be too
    /// many.
    private static let promotionPause = Duration.milliseconds(20)

    /// Makes due jobs available, wakes this worker and others for them, and looks for suspects.
    @discardableResult
    func promoteDue(lookingAtAll: Bool = true) async throws -> JobQueue.Promotion {
        let queue = self.queue
        let all = lanes
        let (result, suspects) = try await control.withConnection { connection in
            (try queue.promote(lookingAtAll: lookingAtAll, on: connection), try queue.hasSuspects(all, on: connection))
        }
        if suspects {
            _ = core.withLock { $0.suspects.found(now: .now) }
            signal.set()
        } else if core.withLock({ $0.suspects.vanished() }) {
            signal.set()
        }
        if result.promoted > 0 {
            wake()
            let free = core.withLock { core in
                core.plan.isStopping || !core.suspects.allowsOrdinary ? 0 : core.plan.slots - core.plan.running
            }
            // More became available than this worker can start, or in lanes that it does not serve.
            if result.promoted > free || !result.lanes.isSubset(of: all.map(\.name)) { await tellOthers() }
        }
        return result
    }

    /// Shortens the waits that began before the server's clock was set back.
    func renewWaits() async {
        let isDue = core.withLock { core in
            defer { core.server.mayHaveGoneBack = false }
            return core.server.mayHaveGoneBack
        }
        guard isDue else { return }
        let queue = self.queue
        let renewed = await attempt("waits") {
            try await self.control.withConnection { connection in try queue.renewWaitsAhead(on: connection) }
        }
        // It failed, or there may be more.
        if renewed ?? JobQueue.promotedAtOnce >= JobQueue.promotedAtOnce {
            core.withLock { $0.server.mayHaveGoneBack = true }
        }
    }

    func rescueLost() async throws {
        guard core.withLock({ $0.mayRescue(now: .now) }) else { return }
        let queue = self.queue
        let rescued: (jobs: Int, workers: Int) = try await control.withConnection { connection in
            // The connection may have come only once a lost database was back.
            let (mayRescue, time) = self.core.withLock { ($0.mayRescue(now: .now), $0.server.time(now: .now)) }
            guard mayRescue, let time else { return (0, 0) }
            try queue.renewBeatsAhead(on: connection)
            return try queue.rescue(by: time, on: connection)
        }
        guard rescued.jobs > 0 || rescued.workers > 0 else { return }
        metrics.rescued.increment(by: rescued.jobs)
        logger.warning(
            "took over the jobs of lost workers",
            metadata: ["jobs": "\(rescued.jobs)", "workers": "\(rescued.workers)"]
        )
        if rescued.jobs > 0 { await madeRoom() }
    }

    /// Gives up jobs whose handlers in this process continue although their time is over.
    ///
    /// Uses this worker's own records: in the table these jobs lie among everything that ran since the oldest snapshot.
    func takeOverdue() async throws {
        let grace = configuration.overdueGrace
        let jobs = core.withLock { core in
            let worker = core.worker
            return core.book.overdue(by: grace, now: .now).filter { $0.worker == worker }
        }
        guard !jobs.isEmpty else { return }
        let queue = self.queue
        let alarmed = registry.entries.mapValues(\.retry).filter { !$0.value.hasLastAttempt }
        let overdue = try await control.withConnection { connection in
            try queue.takeOverdue(jobs, alarmed: alarmed, on: connection)
        }
        guard overdue > 0 else { return }
        metrics.overdue.increment(by: overdue)
        logger.error("took away jobs whose handlers did not stop at their deadline", metadata: ["jobs": "\(overdue)"])
        await madeRoom()
    }

    /// Wakes all workers after jobs stopped running, which makes room under their limits.
    private func madeRoom() async {
        wake()
        await tellOthers()
    }

    /// Writes this release's limits of kinds, if this worker is the one that decides them and the table differs.
    func syncKindLimits(patience: Duration = JobQueue.patience) async throws {
        guard let worker = core.withLock({ $0.worker }) else { return }
        let (queue, kinds) = (self.queue, Set(lanes.map(\.kind)))
        let limits = registry.entries.values.compactMap(\.limit)
        try await control.withConnection { connection in
            try queue.syncLimits(limits, of: kinds, by: worker, patience: patience, on: connection)
        }
    }

    /// Wakes the other workers: this one may have made more jobs available than it has slots for, or jobs of kinds it
    /// does not know.
    func tellOthers() async {
        let (queue, names) = (self.queue, Set(lanes.prefix(1).map(\.queue)))
        await attempt("notify") {
            try await self.control.withConnection { connection in try queue.notifyUnflushed(names, on: connection) }
        }
    }
}
