import Postgres
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Periodic jobs.
extension Worker {
    /// The rules of the zones that the schedules name.
    func readZones() async throws -> [String: ZoneRules] {
        let names = Set(registry.periodic.map(\.zone))
        guard !names.isEmpty else { return [:] }
        let queue = self.queue
        return try await control.withConnection { connection in
            var rules: [String: ZoneRules] = [:]
            for name in names { rules[name] = try queue.zoneRules(name, on: connection) }
            return rules
        }
    }

    /// Enqueues the jobs of the schedules, by the server's clock.
    ///
    /// A job whose slot or unique key another session has locked does not keep others from being enqueued, and is tried
    /// again.
    ///
    /// - Throws: ``PostgresError``: the first of these errors, after all schedules have been tried.
    func enqueuePeriodic(_ zones: [String: ZoneRules]) async throws {
        let (worker, time) = core.withLock { ($0.worker, $0.server.time(now: .now)) }
        guard !registry.periodic.isEmpty, let time else { return }
        let now = Int(time.timeIntervalSince1970)
        var failure: PostgresError?
        for periodic in registry.periodic {
            guard let rules = zones[periodic.zone],
                seenInstants.withLock({ $0.mayHaveCome(periodic.name, by: now, as: worker) })
            else { continue }
            do {
                try await enqueue(periodic, by: now, in: rules, as: worker)
            } catch let error as PostgresError where Settlement.isHeldUp(error) {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Enqueues the job of one schedule for its latest instant, unless a worker already has.
    private func enqueue(
        _ periodic: PeriodicJob,
        by now: Int,
        in rules: ZoneRules,
        as worker: Int64?
    ) async throws {
        let queue = self.queue
        let last = seenInstants.withLock { $0.last(of: periodic.name) }
        guard let instant = periodic.schedule.latest(through: now, in: rules) else {
            // Its instants are further apart than the search looks back. It still counts as seen; otherwise its first
            // instant would be taken for one from before the schedule was known.
            if last == nil {
                try await control.withConnection { connection in
                    try queue.remember(periodic, at: now, on: connection)
                }
            }
            seenInstants.withLock { $0.saw(periodic.name, last ?? now, at: now, as: worker) }
            return
        }
        var isOurs = false
        if last != instant {
            isOurs = try await control.withConnection { connection in
                try await queue.enqueue(periodic, at: instant, on: connection)
            }
        }
        seenInstants.withLock { $0.saw(periodic.name, instant, at: now, as: worker) }
        if isOurs {
            wake()
            await tellOthers()
        }
    }
}
