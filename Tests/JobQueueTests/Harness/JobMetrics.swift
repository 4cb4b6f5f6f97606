import Foundation
import Postgres
import Telemetry

@testable import JobQueue

/// Jobs of each outcome, a worker that counts them into metrics, and the values that its registry reports.
enum JobMetrics {
    private static let retry = RetryPolicy.exponential(attempts: 3, base: .milliseconds(10))
    static let good = JobKind<Note>("test.good", queue: "one", retry: retry)
    static let bad = JobKind<Note>("test.bad", queue: "one", retry: retry)
    static let patient = JobKind<Note>("test.patient", queue: "two", retry: retry)
    static let lost = JobKind<Note>("test.lost", queue: "two", retry: retry)
    static let erase = JobKind<Note>(
        "test.erase",
        queue: "two",
        retry: .withoutLastAttempt(attempts: 1, base: .milliseconds(10))
    )

    private static func registry(_ harness: JobHarness) throws -> JobRegistry {
        var registry = JobRegistry()
        try registry.register(good) { _, _ in .completed() }
        try registry.register(bad) { _, context in
            context.attempt == 1 ? .retry(reason: "once") : .discard(reason: "twice")
        }
        try registry.register(patient) { _, context in
            try await harness.effect(context)
            let runs = try await harness.count("select count(*) from public.effects where job = \(context.id)")
            return runs == 1 ? .snooze(until: context.now.addingTimeInterval(0.02)) : .cancelled(reason: "no more")
        }
        try registry.register(lost) { _, context in
            try await harness.effect(context, "lost")
            if try await harness.count("select count(*) from public.effects where note = 'lost'") == 1 {
                try await Task.sleep(for: .seconds(60))
            }
            return .completed()
        }
        try registry.register(erase) { _, _ in .retry(reason: "no") }
        return registry
    }

    /// A worker that counts into `metrics`.
    static func worker(
        _ harness: JobHarness,
        _ metrics: MetricsRegistry,
        in pool: Pool? = nil,
        registry: JobRegistry? = nil,
        _ change: (inout WorkerConfiguration) -> Void = { _ in },
        figuresRead: @escaping @Sendable (Date) -> Void = { _ in }
    ) throws -> Worker {
        try Worker(
            queue: harness.queue,
            pool: pool ?? harness.pool,
            listener: nil,
            registry: registry ?? self.registry(harness),
            configuration: harness.configuration(change),
            logger: harness.logger,
            metrics: metrics,
            figuresRead: figuresRead
        )
    }

    /// The value of one series; nil when there is none.
    static func value(_ series: String, _ text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
            Double($0.dropFirst(series.count + 1))
        }
    }
}
