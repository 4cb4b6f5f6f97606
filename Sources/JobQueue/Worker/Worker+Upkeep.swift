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
    /// What is done at the pace of the polling, besides looking for jobs: what is due, lost or overdue, the periodic jobs, the
    /// history, the vacuum, the gauges.
    func upkeep() async {
        let clock = ContinuousClock()
        var zones: [String: ZoneRules] = [:]
        var zonesReadAt: ContinuousClock.Instant?
        var nextRescue = clock.now
        var nextHistory = clock.now
        var nextGauges = clock.now
        var nextAgeing = clock.now
        var nextVacuum = clock.now.advanced(by: configuration.vacuumInterval ?? .zero)
        while !Task.isCancelled {
            let now = clock.now
            let nextDue = await attempt("promote") { try await self.promoteDue() } ?? nil
            if nextRescue <= now {
                nextRescue = now.advanced(by: min(.seconds(5), configuration.leaseLifetime / 4))
                await attempt("rescue") { try await self.rescueLost() }
            }
            if zonesReadAt.map({ $0.advanced(by: .seconds(86_400)) <= now }) ?? true,
                let read = await attempt("zones", { try await self.readZones() })
            {
                zones = read
                zonesReadAt = now
            }
            let rules = zones
            await attempt("periodic") { try await self.enqueuePeriodic(rules) }
            if nextHistory <= now {
                nextHistory = now.advanced(by: .seconds(Double.random(in: 1800...3600)))
                await keepHistory()
            }
            if let interval = configuration.vacuumInterval, nextVacuum <= now {
                nextVacuum = now.advanced(by: interval)
                let queue = self.queue
                await attempt("vacuum") {
                    try await self.pool.withConnection { connection in try queue.vacuum(on: connection) }
                }
            }
            if let ageing = configuration.ageing, nextAgeing <= now {
                nextAgeing = now.advanced(by: min(ageing / 4, .seconds(60)))
                let queue = self.queue
                let all = lanes
                await attempt("ageing") {
                    try await self.pool.withConnection { connection in
                        try queue.age(all, after: ageing, on: connection)
                    }
                }
            }
            if nextGauges <= now {
                nextGauges = now.advanced(by: .seconds(10))
                await attempt("gauges") { try await self.recordGauges() }
            }
            let poll = configuration.pollInterval * Double.random(in: 0.8...1.2)
            // Due and yet not promoted: another session has its row, and looking again at once would not change that.
            let pause = nextDue.map { $0 < 0 ? .milliseconds(50) : max(.milliseconds(1), .microseconds($0)) } ?? poll
            let wait = min(poll, pause)
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            // The poll: progress never depends on a notification.
            wake()
        }
    }

    func keepHistory() async {
        let queue = self.queue
        let retention = configuration.retention
        await attempt("history") {
            try await self.pool.withConnection { connection in
                try await queue.keepHistory(retention: retention, on: connection)
            }
        }
    }

    /// Does one part, and goes on without it when it fails.
    ///
    /// The first failure in a row is told, and each hundredth: a worker that cannot rescue or schedule must not look healthy.
    @discardableResult
    private func attempt<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async -> Value? {
        do {
            let value = try await body()
            upkeepFailures.withLock { _ = $0.removeValue(forKey: name) }
            return value
        } catch {
            guard !Task.isCancelled else { return nil }
            let count = upkeepFailures.withLock { failures in
                failures[name, default: 0] += 1
                return failures[name, default: 0]
            }
            logger.log(
                level: count % 100 == 1 ? .warning : .debug,
                "upkeep failed",
                metadata: ["part": "\(name)", "error": "\(Verdict.describe(error))", "times": "\(count)"]
            )
            return nil
        }
    }

    /// Returns the microseconds until the next scheduled job.
    func promoteDue() async throws -> Int64? {
        let queue = self.queue
        let all = lanes
        let (result, suspects) = try await pool.withConnection { connection in
            (try queue.promote(on: connection), try queue.hasSuspects(all, on: connection))
        }
        if suspects {
            _ = core.withLock { $0.suspects.found(now: .now) }
            signal.set()
        }
        if result.promoted > 0 { wake() }
        return result.promoted >= 1000 ? 0 : result.nextIn
    }

    func rescueLost() async throws {
        let queue = self.queue
        let grace = configuration.overdueGrace
        let all = lanes
        let (rescued, overdue, unparked) = try await pool.withConnection { connection in
            (
                try queue.rescue(on: connection), try queue.takeOverdue(grace: grace, on: connection),
                try queue.unparkUnlimited(all, on: connection) + queue.retryNewer(all, on: connection)
            )
        }
        if unparked > 0 { wake() }
        if rescued.jobs > 0 || rescued.workers > 0 {
            metrics.rescued.increment(by: rescued.jobs)
            logger.warning(
                "took the jobs of lost workers",
                metadata: ["jobs": "\(rescued.jobs)", "workers": "\(rescued.workers)"]
            )
            wake()
        }
        if overdue > 0 {
            logger.error("took jobs whose handlers did not stop at their deadline", metadata: ["jobs": "\(overdue)"])
        }
    }

    func readZones() async throws -> [String: ZoneRules] {
        let names = Set(registry.periodic.map(\.zone))
        guard !names.isEmpty else { return [:] }
        let queue = self.queue
        return try await pool.withConnection { connection in
            var rules: [String: ZoneRules] = [:]
            for name in names { rules[name] = try queue.zoneRules(name, on: connection) }
            return rules
        }
    }

    /// Enqueues what the schedules name, by the server's clock.
    func enqueuePeriodic(_ zones: [String: ZoneRules]) async throws {
        guard !registry.periodic.isEmpty, let time = core.withLock({ $0.serverTime(now: .now) }) else { return }
        let now = Int(time.timeIntervalSince1970)
        for periodic in registry.periodic {
            guard let rules = zones[periodic.zone],
                let instant = periodic.schedule.latest(through: now, in: rules),
                lastInstants.withLock({ $0[periodic.name] }) != instant
            else { continue }
            let queue = self.queue
            let isOurs = try await pool.withConnection { connection in
                try await queue.enqueue(periodic, at: instant, on: connection)
            }
            lastInstants.withLock { $0[periodic.name] = instant }
            if isOurs { wake() }
        }
    }

    /// Takes the numbers of the tables over into the metrics.
    func recordGauges() async throws {
        let queue = self.queue
        let figures = try await pool.withConnection { connection in try queue.figures(on: connection) }
        metrics.record(figures)
        if figures.defaultRows > 0 {
            logger.error("job history lies in the default partition", metadata: ["rows": "\(figures.defaultRows)"])
        }
    }
}
