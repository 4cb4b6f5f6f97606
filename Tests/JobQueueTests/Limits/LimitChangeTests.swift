import Postgres
import Testing

@testable import JobQueue

/// Limits that operators and releases set, widen and lift.
@Suite(.timeLimit(.minutes(5))) struct LimitChangeTests {
    /// A limit set by an operator overrides the code's at once; when it is lifted, the jobs that it parked go on.
    @Test func aLimitIsSetAndLiftedByHand() async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let limit = { @Sendable (running: Int?, perKey: Int?) in
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: "test.plain", running: running, runningPerKey: perKey, on: connection)
                }
            }
            var registry = JobRegistry()
            let meter = RunningMeter()
            try registry.register(kind) { note, context in
                meter.enter(note.text)
                defer { meter.leave(note.text) }
                // No job ends before as many have run at once as the limit allows.
                if note.text == "few" { try await harness.until { meter.most["few"] ?? 0 >= 2 } }
                try await harness.effect(context, note.text)
                if note.text == "stuck" {
                    while try await harness.count("select count(*) from public.effects where note = 'go'") == 0 {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                } else {
                    try await Task.sleep(for: .milliseconds(5))
                }
                return .completed()
            }
            try await limit(2, nil)
            let fixed = registry
            // There is no listener, so that the limit must also hold in the first claims, before the first heartbeat
            // has reported it.
            try await harness.withWorker(fixed, { $0.slots = 10 }) {
                try await harness.enqueue(try (0..<30).map { _ in try kind.job(Note(text: "few")) })
                try await harness.until { try await harness.finished("completed") == 30 }
                #expect(meter.most["few"] == 2)

                try await limit(nil, 1)
                try await harness.enqueue(try (0..<6).map { _ in try kind.job(Note(text: "stuck"), limitKey: "k") })
                try await harness.until {
                    try await harness.count("select count(*) from accountctl.jobs where state = 'parked'") == 5
                }
                // The job that is not parked may be claimed and not yet have begun.
                try await harness.until { meter.most["stuck"] != nil }
                #expect(meter.most["stuck"] == 1)
                try await limit(nil, nil)
                // All jobs run at once now, those that were parked included.
                try await harness.until { meter.most["stuck"] == 6 }
                try await harness.execute("insert into public.effects (job, note) values (0, 'go')")
                try await harness.until { try await harness.unfinished() == 0 }
            }
            let records = try await harness.pool.withConnection { connection in
                try harness.queue.kindLimits(on: connection)
            }
            #expect(records.isEmpty)
        }
    }

    /// A release that no longer limits a kind removes the limit.
    @Test func aLimitGoesWithTheCodeThatHadIt() async throws {
        try await JobHarness.with { harness in
            for limits in [JobKind<Note>.Limits(running: 2), .init()] {
                let registry = try JobRegistry(JobKind<Note>("test.plain", limits: limits)) { _, _ in .completed() }
                try await harness.worker(registry).runUntilIdle()
                let records = try await harness.pool.withConnection { connection in
                    try harness.queue.kindLimits(on: connection)
                }
                #expect(records.map(\.running) == (limits.running == nil ? [] : [2]))
            }
        }
    }

    /// When a limit is raised or lifted, waiting jobs go on as soon as the worker learns of it.
    @Test(arguments: [6, nil]) func aWiderLimitNeedsNoPoll(_ running: Int?) async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let limit = { @Sendable (running: Int?) in
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: "test.plain", running: running, runningPerKey: nil, on: connection)
                }
            }
            let registry = try JobRegistry(kind) { _, context in
                try await harness.effect(context)
                try await Task.sleep(for: .seconds(3600))
                return .completed()
            }
            try await limit(2)
            try await harness.enqueue(try (0..<6).map { _ in try kind.job(Note()) })
            try await harness.withListeningWorker(registry) {
                try await harness.until { try await harness.effects() == 2 }
                try await limit(running)
                try await harness.until { try await harness.effects() == 6 }
            }
        }
    }

    /// Releases that overlap: a worker of the older one that registers anew leaves the newer one's limits as they are.
    ///
    /// A worker of the newer one restores its own, which the older has changed while it was the newest.
    @Test func whoRegistersAnewSaysTheLimitsOfTheNewest() async throws {
        try await JobHarness.with { harness in
            let workers = try [("0.9", 7), ("0.10", 1)].map { version, running in
                let kind = JobKind<Note>("test.plain", limits: .init(running: running))
                let registry = try JobRegistry(kind) { _, _ in .completed() }
                return try harness.worker(registry) { $0.version = version }
            }
            for worker in workers { try await worker.begin() }
            for (lost, limit) in [(["0.9"], 1), (["0.9", "0.10"], 7)] {
                try await harness.execute(
                    """
                    update accountctl.workers
                    set stopped_at = now(), stop_reason = 'lost'
                    where version = any(\(lost))
                    and stopped_at is null
                    """
                )
                await workers[0].beat()
                #expect(try await runningLimit(harness) == limit)
            }
            await workers[1].beat()
            #expect(try await runningLimit(harness) == 1)
            #expect(try await harness.count("select count(*) from accountctl.workers where stopped_at is null") == 2)
        }
    }

    private func runningLimit(_ harness: JobHarness) async throws -> Int? {
        try await harness.pool.withConnection { try harness.queue.kindLimits(on: $0) }.first
            .flatMap { $0.running.map(Int.init) }
    }
}
