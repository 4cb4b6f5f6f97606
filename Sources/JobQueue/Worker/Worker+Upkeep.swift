import Logging
import Postgres
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Worker {
    /// Does upkeep that can wait while handlers hold every connection: the history, ageing, the gauges.
    func upkeep() async {
        let clock = ContinuousClock()
        // A worker that ends when idle has maintained the history before it started.
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
                let began = clock.now
                await attempt("gauges") { try await self.recordGauges() }
                nextGauges = clock.now.advanced(by: Self.rest(afterGaugesOf: clock.now - began))
            }
        } while await pause(.seconds(1))
    }

    /// The time between two readings of the gauges, the first of which took so long.
    ///
    /// Each worker counts all unfinished jobs, and millions of them take seconds: the server has most of the time for
    /// everything else. Readings older than some minutes raise an alarm.
    static func rest(afterGaugesOf took: Duration) -> Duration {
        min(max(.seconds(10), took * 20), .seconds(60))
    }

    /// Vacuums the hot table regularly, in a task of its own, because that takes minutes after an old snapshot.
    ///
    /// If handlers have only a single connection, they would wait for these minutes: then vacuuming is left to the
    /// server.
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

    /// Does one part of the upkeep, and continues without it if it fails.
    ///
    /// Failures are logged: a worker that cannot rescue or schedule must not look healthy.
    @discardableResult
    func attempt<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async -> Value? {
        do {
            let value = try await body()
            upkeepFailures.withLock { $0.succeeded(name) }
            return value
        } catch {
            guard !Task.isCancelled else { return nil }
            let (times, level) = upkeepFailures.withLock { $0.failed(name) }
            logger.log(
                level: level,
                "upkeep failed",
                metadata: ["part": "\(name)", "error": "\(Verdict.describe(error))", "times": "\(times)"]
            )
            return nil
        }
    }

    /// Records the figures of the tables as metrics.
    func recordGauges() async throws {
        let queue = self.queue
        let (figures, settings) = try await pool.withConnection { connection in
            let depths = try await connection.transaction { connection in
                // With scans of whole tables priced out, the planner cannot tell hashing from sorting by their costs,
                // and would sort all jobs on disk.
                try connection.execute("set local enable_seqscan = on")
                return try queue.depths(on: connection)
            }
            return (try queue.figures(depths, on: connection), try queue.queueSettings(on: connection))
        }
        metrics.record(figures, paused: Set(settings.filter { $0.pausedAt != nil }.map(\.name)))
        figuresRead(.now)
        if figures.defaultRows > 0 {
            logger.error(
                "rows of the job history are in the default partition",
                metadata: ["rows": "\(figures.defaultRows)"]
            )
        }
    }
}
