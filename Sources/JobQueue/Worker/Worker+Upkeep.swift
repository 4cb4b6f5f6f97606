import Logging
import Postgres
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Worker {
    /// What can wait while handlers hold every connection: the history, ageing, the gauges.
    func upkeep() async {
        let clock = ContinuousClock()
        // The history of a worker that ends when it is idle was kept before it began.
        let isKept = core.withLock { $0.plan.endsWhenIdle }
        var nextHistory = isKept ? clock.now.advanced(by: .seconds(1800)) : clock.now
        var nextGauges = clock.now
        var nextAgeing = clock.now
        repeat {
            let now = clock.now
            if nextHistory <= now {
                nextHistory = now.advanced(by: .seconds(Double.random(in: 1800...3600)))
                await keepHistory()
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
        } while await pause(.seconds(1))
    }

    /// Vacuums the hot table again and again; by itself, since after an old snapshot that takes minutes.
    ///
    /// Where handlers have a single connection they would wait for these minutes: it is left to the server.
    func keepVacuumed() async {
        guard let interval = configuration.vacuumInterval, pool.maximumConnections > 1 else { return }
        let queue = self.queue
        while await pause(interval) {
            await attempt("vacuum") {
                try await self.pool.withConnection { connection in try queue.vacuum(on: connection) }
            }
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
    /// The first failure in a row is told, and each hundredth: a worker that cannot rescue or schedule must not look
    /// healthy.
    @discardableResult
    func attempt<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async -> Value? {
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

    /// Takes the numbers of the tables over into the metrics.
    func recordGauges() async throws {
        let queue = self.queue
        let (figures, settings) = try await pool.withConnection { connection in
            (try queue.figures(on: connection), try queue.queueSettings(on: connection))
        }
        metrics.record(figures, paused: Set(settings.filter { $0.pausedAt != nil }.map(\.name)))
        figuresRead(.now)
        if figures.defaultRows > 0 {
            logger.error("job history lies in the default partition", metadata: ["rows": "\(figures.defaultRows)"])
        }
    }
}
