import Postgres
import Testing

@testable import JobQueue

/// Limits across several workers, measured by how many handlers run at once.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    /// Runs the jobs and returns the most that ran at once; none ends before that reached `enough`.
    private func run(
        _ kind: JobKind<Note>,
        _ jobs: [NewJob],
        workers: Int,
        until enough: Int
    ) async throws -> [String: Int] {
        let meter = RunningMeter()
        try await JobHarness.with(connections: 10) { harness in
            let registry = try JobRegistry(kind) { note, context in
                meter.enter("all")
                meter.enter(note.text)
                try await harness.until { meter.most["all"] ?? 0 >= enough }
                try await harness.effect(context)
                try await Task.sleep(for: .milliseconds(2))
                meter.leave("all")
                meter.leave(note.text)
                return .completed()
            }
            try await harness.enqueue(jobs)
            let running = try (0..<workers).map { _ in try harness.worker(registry) { $0.slots = 20 } }
            try await harness.withWorkers(running) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.effects() == jobs.count)
        }
        return meter.most
    }

    @Test func aKindRunsSoManyAtOnce() async throws {
        let kind = JobKind<Note>("test.limited", limits: .init(running: 3))
        let most = try await run(kind, try (0..<60).map { _ in try kind.job(Note(text: "x")) }, workers: 3, until: 3)
        #expect(most["all"] == 3)
    }

    @Test func aKeyRunsSoManyAtOnce() async throws {
        let kind = JobKind<Note>("test.keyed", limits: .init(runningPerKey: 2))
        let jobs = try (0..<90).map { number in
            let key = ["a", "b", "c"][number % 3]
            return try kind.job(Note(text: key), limitKey: key)
        }
        let most = try await run(kind, jobs, workers: 3, until: 3)
        for key in ["a", "b", "c"] { #expect(most[key] ?? 9 <= 2) }
        #expect(most["all"] ?? 0 > 2)
    }

    /// Jobs of a blocked key at the front do not hold up those behind them.
    @Test func aBlockedKeyIsParked() async throws {
        let kind = JobKind<Note>("test.keyed", limits: .init(runningPerKey: 1))
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { note, context in
                try await harness.effect(context, note.text)
                if note.text == "stuck" { try await Task.sleep(for: .seconds(3600)) }
                return .completed()
            }
            // More jobs than one claim looks at; nothing else makes the worker look again.
            try await harness.enqueue(try (0..<4500).map { _ in try kind.job(Note(text: "stuck"), limitKey: "s") })
            try await harness.enqueue(try (0..<5).map { try kind.job(Note(text: "free"), limitKey: "f\($0)") })
            let change: @Sendable (inout WorkerConfiguration) -> Void = { configuration in
                configuration.slots = 2
                configuration.pollInterval = .seconds(3600)
            }
            try await harness.withWorker(registry, change) {
                // The job that is not parked has begun, and may not have written its effect yet.
                let begun: Statement = "select count(*) from public.effects where note = 'stuck'"
                try await harness.until {
                    let free = try await harness.finished("completed")
                    return try await harness.count(begun) > 0 && free == 5
                }
                #expect(try await harness.count("select count(*) from accountctl.jobs where state = 'parked'") == 4499)
                #expect(try await harness.count(begun) == 1)
            }
        }
    }

    /// A job that ends makes room for the next at once, not at the next poll.
    @Test func aFullLimitIsRefilledWithoutWaiting() async throws {
        let kind = JobKind<Note>("test.serial", limits: .init(running: 1))
        try await JobHarness.with { harness in
            let registry = try harness.recording(kind)
            try await harness.enqueue(try (0..<50).map { _ in try kind.job(Note()) })
            // Without polls: jobs that had to wait for one a minute would exceed the time limit of the test.
            try await harness.withWorker(registry, { $0.pollInterval = .seconds(3600) }) {
                try await harness.until { try await harness.finished("completed") == 50 }
            }
        }
    }

    /// When slots come free one after the other, a backlog under a limit leaves every second one to other jobs.
    @Test func aBacklogUnderALimitDoesNotTakeEverySlot() async throws {
        let limited = JobKind<Note>("test.limited", limits: .init(running: 100))
        let plain = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            for kind in [limited, plain] {
                try registry.register(kind) { _, context in
                    try await harness.effect(context, kind.name)
                    return .completed()
                }
            }
            try await harness.enqueue(try (0..<20).map { _ in try limited.job(Note()) } + [plain.job(Note())])
            try await harness.withWorker(registry, { $0.slots = 1 }) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            let before = try await harness.count(
                """
                select count(*)
                from public.effects
                where id < (select id from public.effects where note = \(plain.name))
                """
            )
            #expect(before < 3)
        }
    }
}
