import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Limits over several workers: counted by what handlers see of each other.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    /// How many run at once, by key.
    private final class Meter: Sendable {
        private struct State {
            var running: [String: Int] = [:]
            var most: [String: Int] = [:]
        }
        private let state = Mutex(State())

        func enter(_ key: String) {
            state.withLock { state in
                state.running[key, default: 0] += 1
                state.most[key] = max(state.most[key] ?? 0, state.running[key] ?? 0)
            }
        }

        func leave(_ key: String) {
            state.withLock { $0.running[key, default: 0] -= 1 }
        }

        var most: [String: Int] { state.withLock { $0.most } }
    }

    private func run(_ kind: JobKind<Note>, _ jobs: [NewJob], workers: Int) async throws -> [String: Int] {
        let meter = Meter()
        try await JobHarness.with(connections: 10) { harness in
            var registry = JobRegistry()
            try registry.register(kind) { note, context in
                meter.enter("all")
                meter.enter(note.text)
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
        let most = try await run(kind, try (0..<60).map { _ in try kind.job(Note(text: "x")) }, workers: 3)
        #expect(most["all"] == 3)
    }

    @Test func aKeyRunsSoManyAtOnce() async throws {
        let kind = JobKind<Note>("test.keyed", limits: .init(runningPerKey: 2))
        let jobs = try (0..<90).map { number in
            let key = ["a", "b", "c"][number % 3]
            return try kind.job(Note(text: key), limitKey: key)
        }
        let most = try await run(kind, jobs, workers: 3)
        for key in ["a", "b", "c"] { #expect(most[key] ?? 9 <= 2) }
        #expect(most["all"] ?? 0 > 2)
    }

    /// A job that somebody has locked goes on later; the others do not wait for it.
    @Test func whatIsLockedKeepsNoOtherParked() async throws {
        try await JobHarness.with { harness in
            let lanes = [Lane(queue: "default", kind: "test.keyed", timeout: .seconds(60))]
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
                select 'default', 'test.keyed', 'parked', 'limit', 'k' from generate_series(1, 3)
                """
            )
            let unpark = { @Sendable in
                try await harness.pool.withConnection { try harness.queue.unparkUnlimited(lanes, on: $0) }
            }
            try await harness.pool.withTransaction { other in
                _ = try other.query("select id from accountctl.jobs order by id limit 1 for update", as: Int64.self)
                #expect(try await unpark() == 2)
            }
            #expect(try await unpark() == 1)
        }
    }

    /// A blocked key in front does not hold up those behind it.
    @Test func aBlockedKeyIsParked() async throws {
        let kind = JobKind<Note>("test.keyed", limits: .init(runningPerKey: 1))
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { note, context in
                try await harness.effect(context, note.text)
                if note.text == "stuck" { try await Task.sleep(for: .seconds(3600)) }
                return .completed()
            }
            // More than one claim looks at, and nobody else makes the worker look again.
            try await harness.enqueue(try (0..<4500).map { _ in try kind.job(Note(text: "stuck"), limitKey: "s") })
            try await harness.enqueue(try (0..<5).map { try kind.job(Note(text: "free"), limitKey: "f\($0)") })
            let change: @Sendable (inout WorkerConfiguration) -> Void = { configuration in
                configuration.slots = 2
                configuration.pollInterval = .seconds(3600)
            }
            try await harness.withWorker(registry, change) {
                try await harness.until { try await harness.finished("completed") == 5 }
                #expect(try await harness.count("select count(*) from accountctl.jobs where state = 'parked'") == 4499)
                #expect(try await harness.count("select count(*) from public.effects where note = 'stuck'") == 1)
            }
        }
    }

    /// What an operator sets counts at once and instead of the code; lifted, what it had parked goes on.
    @Test func aLimitIsSetAndLiftedByHand() async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let limit = { @Sendable (running: Int?, perKey: Int?) in
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: "test.plain", running: running, runningPerKey: perKey, on: connection)
                }
            }
            var registry = JobRegistry()
            let meter = Meter()
            try registry.register(kind) { note, context in
                meter.enter(note.text)
                defer { meter.leave(note.text) }
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
            // No listener: what the first claims do before the first heartbeat has told them of the limit counts too.
            try await harness.withWorker(fixed, { $0.slots = 10 }) {
                try await harness.enqueue(try (0..<30).map { _ in try kind.job(Note(text: "few")) })
                try await harness.until { try await harness.finished("completed") == 30 }
                #expect(meter.most["few"] == 2)

                try await limit(nil, 1)
                try await harness.enqueue(try (0..<6).map { _ in try kind.job(Note(text: "stuck"), limitKey: "k") })
                try await harness.until {
                    try await harness.count("select count(*) from accountctl.jobs where state = 'parked'") == 5
                }
                // The one that is not parked may be claimed and not yet begun.
                try await harness.until { meter.most["stuck"] != nil }
                #expect(meter.most["stuck"] == 1)
                try await limit(nil, nil)
                // All at once now, those that were parked included.
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

    /// A release that limits a kind no more leaves no limit behind.
    @Test func aLimitGoesWithTheCodeThatHadIt() async throws {
        try await JobHarness.with { harness in
            for limits in [JobKind<Note>.Limits(running: 2), .init()] {
                var registry = JobRegistry()
                try registry.register(JobKind<Note>("test.plain", limits: limits)) { _, _ in .completed() }
                try await harness.worker(registry).runUntilIdle()
                let records = try await harness.pool.withConnection { connection in
                    try harness.queue.kindLimits(on: connection)
                }
                #expect(records.map(\.running) == (limits.running == nil ? [] : [2]))
            }
        }
    }

    @Test func aQueueStartsSoManyInATime() async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, context in
                try await harness.effect(context)
                return .completed()
            }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limitRate(queue: "apple", to: (5, .seconds(3600)), on: connection)
            }
            try await harness.enqueue(try (0..<20).map { _ in try kind.job(Note()) })
            let workers = try (0..<2).map { _ in try harness.worker(registry) }
            try await harness.withWorkers(workers) {
                try await harness.until { try await harness.effects() >= 5 }
                // Ten looks later it is still so; each locks the queue's row anew.
                var looks: Set<Int> = []
                try await eventually("ten looks at the queue") {
                    let locker: Statement = "select xmax::text::bigint from accountctl.queues where name = 'apple'"
                    looks.insert(try await harness.count(locker))
                    return looks.count >= 10
                }
                #expect(try await harness.effects() == 5)
                try await harness.pool.withConnection { connection in
                    _ = try harness.queue.limitRate(queue: "apple", to: nil, on: connection)
                }
                try await harness.until { try await harness.effects() == 20 }
            }
        }
    }

    /// What was not used in half of the time is there besides, as the README says of a rate.
    @Test func whatARateDidNotUseIsKept() async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        let lanes = [Lane(queue: "apple", kind: kind.name, timeout: .seconds(60))]
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<40).map { _ in try kind.job(Note()) })
            let worker = try await harness.host()
            let queue = harness.queue
            try await harness.pool.withConnection { connection in
                _ = try queue.limitRate(queue: "apple", to: (10, .seconds(3600)), on: connection)
            }
            var begun: [Int] = []
            for seconds in [0, 1800, 7200, 0] {
                try await harness.execute(
                    "update accountctl.queues set rate_counted_at = rate_counted_at - \(seconds) * interval '1 second'"
                )
                let claim = try await harness.pool.withConnection { connection in
                    try await queue.claimLimited(lanes, .init(worker: worker, limit: 40), on: connection)
                }
                begun.append(claim.jobs.count)
            }
            #expect(begun == [10, 5, 10, 0])
        }
    }

    /// A job that ends makes room for the next at once, not at the next poll.
    @Test func aFullLimitIsRefilledWithoutWaiting() async throws {
        let kind = JobKind<Note>("test.serial", limits: .init(running: 1))
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, context in
                try await harness.effect(context)
                return .completed()
            }
            try await harness.enqueue(try (0..<50).map { _ in try kind.job(Note()) })
            // With a look a minute, the test's limit would come first.
            try await harness.withWorker(registry, { $0.pollInterval = .seconds(3600) }) {
                try await harness.until { try await harness.finished("completed") == 50 }
            }
        }
    }

    /// Tokens come back with time, which tells nobody: the next look at the queue is not that of the polling.
    ///
    /// Also where the server's clock went back since they were counted.
    @Test(arguments: [10, 1_000_000]) func aRateGoesOnBetweenTwoPolls(_ rate: Int) async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, _ in .completed() }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limitRate(queue: "apple", to: (rate, .seconds(1)), on: connection)
            }
            try await harness.execute(
                "update accountctl.queues set rate_tokens = 0, rate_counted_at = now() + interval '1 hour'"
            )
            try await harness.enqueue(try (0..<30).map { _ in try kind.job(Note()) })
            try await harness.withWorker(registry, { $0.pollInterval = .seconds(3600) }) {
                try await harness.until { try await harness.finished("completed") == 30 }
            }
        }
    }

    /// Raised or lifted, a limit lets jobs on when the worker hears of it.
    @Test(arguments: [6, nil]) func aWiderLimitNeedsNoPoll(_ running: Int?) async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let limit = { @Sendable (running: Int?) in
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: "test.plain", running: running, runningPerKey: nil, on: connection)
                }
            }
            var registry = JobRegistry()
            try registry.register(kind) { _, context in
                try await harness.effect(context)
                try await Task.sleep(for: .seconds(3600))
                return .completed()
            }
            try await limit(2)
            try await harness.enqueue(try (0..<6).map { _ in try kind.job(Note()) })
            let listener = JobListener(harness.database.configuration, logger: harness.logger)
            try await harness.withWorker(registry, listener: listener, { $0.pollInterval = .seconds(3600) }) {
                try await harness.database.waitUntilListening("accountctl_jobs")
                try await harness.until { try await harness.effects() == 2 }
                try await limit(running)
                try await harness.until { try await harness.effects() == 6 }
            }
        }
    }

    /// While releases overlap, a worker of the older one that registers anew leaves the newer one's limits alone, and
    /// one of the newer says its own again, which the older has changed while it was the newest.
    @Test func whoRegistersAnewSaysTheLimitsOfTheNewest() async throws {
        try await JobHarness.with { harness in
            let workers = try [("0.9", 7), ("0.10", 1)].map { version, running in
                var registry = JobRegistry()
                let kind = JobKind<Note>("test.plain", limits: .init(running: running))
                try registry.register(kind) { _, _ in .completed() }
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

    /// Where one slot after the other comes free, a backlog under a limit leaves every second one to the others.
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

    /// What another claim wrote while this one waited for the queue is no clock that went back: time would be lost with each.
    @Test func timeCountsForWhoeverWaitedForTheQueue() async throws {
        try await JobHarness.with { harness in
            let lanes = [Lane(queue: "slow", kind: "a", timeout: .seconds(60))]
            let worker = try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "slow", to: (1, .seconds(3600)), on: connection)
                return try harness.queue.addWorker(lanes, on: connection)
            }
            let (claim, written) = try await harness.pool.withTransaction { connection in
                try connection.execute("select from accountctl.queues where name = 'slow' for update")
                let request = JobQueue.ClaimRequest(worker: worker, limit: 9)
                let claim = Task {
                    try await harness.pool.withTransaction { connection in
                        // A worker's claim would give up after a second.
                        try connection.execute("set local lock_timeout = 0")
                        return try harness.queue.claimLimitedLocked(lanes, request, on: connection)
                    }
                }
                try await harness.database.waitUntilBlocked(sessions: 1)
                let counted: Statement = """
                    update accountctl.queues
                    set rate_counted_at = clock_timestamp()
                    where name = 'slow'
                    returning extract(epoch from rate_counted_at)::text
                    """
                return (claim, try connection.one(counted, as: String.self))
            }
            #expect(try await claim.value.jobs.isEmpty)
            let left = "select extract(epoch from rate_counted_at) from accountctl.queues where name = 'slow'"
            #expect(try await harness.database.psql(left) == written)
        }
    }

    /// Kinds of one queue share its tokens in the order of their jobs, not of their names.
    @Test func tokensGoToTheOldestJobOfTheQueue() async throws {
        try await JobHarness.with { harness in
            let lanes = ["a", "b"].map { Lane(queue: "slow", kind: $0, timeout: .seconds(60)) }
            let claimed = try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "slow", to: (1, .seconds(3600)), on: connection)
                try harness.queue.enqueue([NewJob(kind: "b", queue: "slow")], on: connection)
                try harness.queue.enqueue([NewJob(kind: "a", queue: "slow")], on: connection)
                let worker = try harness.queue.addWorker(lanes, on: connection)
                return try await harness.queue.claimLimited(lanes, .init(worker: worker, limit: 9), on: connection).jobs
            }
            #expect(claimed.map(\.kind) == ["b"])
        }
    }

    /// Claims from one lane by hand, with the bounds that a worker has after the full scan of a second.
    private struct Claimer {
        let harness: JobHarness
        let lanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]
        let worker: Int64
        var bounds = ClaimBounds(fullScanInterval: .seconds(3600))

        init(_ harness: JobHarness, _ limits: JobKind<Note>.Limits) async throws {
            self.harness = harness
            let lanes = lanes
            worker = try await harness.pool.withConnection { connection in
                try harness.queue.addWorker(
                    lanes,
                    limits: [.init(kind: "test.plain", running: limits.running, runningPerKey: limits.runningPerKey)],
                    on: connection
                )
            }
        }

        mutating func claim(_ count: Int) async throws -> [ClaimedJob] {
            let known = bounds.bounds(now: .now)
            var request = JobQueue.ClaimRequest(worker: worker, limit: count, bounds: known)
            request.waiting = bounds.waiting
            let claim = try await harness.pool.withConnection { [harness, lanes, request] connection in
                try await harness.queue.claimLimited(lanes, request, on: connection)
            }
            bounds.claimed(claim, wasBounded: known != nil, now: .now, endedAt: .now)
            return claim.jobs
        }

        func finish(_ job: ClaimedJob) async throws {
            let ending = JobQueue.Ending(outcome: .completed, jobs: [job.leased])
            let ended = try await harness.pool.withConnection { [harness] connection in
                try harness.queue.finish(ending, on: connection)
            }
            #expect(ended == [job.leased])
        }

        func enqueue(_ limitKeys: [String?], runAt: Date? = nil) async throws -> [Int64] {
            try await harness.enqueue(
                limitKeys.map { try NewJob(kind: "test.plain", queue: "default", runAt: runAt, limitKey: $0) }
            )
            .map(\.id)
        }
    }

    /// The bound is above what waited for its key: it is taken all the same, and before what came later; but not what
    /// runs alone.
    @Test(arguments: [0, 1]) func whatWaitedForItsKeyGoesFirst(_ crashes: Int) async throws {
        try await JobHarness.with { harness in
            var claimer = try await Claimer(harness, .init(runningPerKey: 1))
            let ids = try await claimer.enqueue(["a", "a"])
            let other = try await claimer.enqueue(["b"])
            let first = try await claimer.claim(3)
            #expect(Set(first.map(\.id)) == [ids[0], other[0]])
            try await harness.execute("update accountctl.jobs set crashes = \(crashes) where id = \(ids[1])")
            let later = try await claimer.enqueue(["c", "d", nil])
            for job in first where job.id == ids[0] { try await claimer.finish(job) }
            #expect(try await claimer.claim(1).map(\.id) == [crashes == 0 ? ids[1] : later[0]])
        }
    }

    /// A job that appears below the bound is found once nothing lies above it, with a key and without.
    @Test(arguments: [JobKind<Note>.Limits(running: 9), .init(runningPerKey: 9)])
    func whatLiesBelowTheBoundIsFound(_ limits: JobKind<Note>.Limits) async throws {
        try await JobHarness.with { harness in
            var claimer = try await Claimer(harness, limits)
            _ = try await claimer.enqueue(["a"])
            #expect(try await claimer.claim(1).count == 1)
            let late = try await claimer.enqueue(["b"], runAt: Date(timeIntervalSince1970: 1000))
            let above = try await claimer.enqueue(["c"])
            #expect(Set(try await claimer.claim(2).map(\.id)) == Set(late + above))
        }
    }

    /// The count begins at the least lease that runs, and a full scan finds what nobody can have given out.
    @Test func theCountOfRunningJobsBeginsWhereTheyDo() async throws {
        try await JobHarness.with { harness in
            let floor = { try await harness.count("select counted_from from accountctl.job_limits") }
            try await harness.execute("select setval('accountctl.job_leases', 5000)")
            var claimer = try await Claimer(harness, .init(running: 2))
            _ = try await claimer.enqueue(Array(repeating: nil, count: 9))
            let first = try await claimer.claim(9)
            #expect(first.count == 2)
            #expect(try await floor() == first.map(\.lease).min().map(Int.init))
            #expect(try await claimer.claim(9).isEmpty)
            try await claimer.finish(first[0])
            let next = try await claimer.claim(9)
            #expect(next.count == 1)
            try await claimer.finish(first[1])
            // As claimed while nobody knew of the limit.
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, lease)
                values ('default', 'test.plain', 'running', \(claimer.worker), 7)
                """
            )
            claimer.bounds = ClaimBounds()
            #expect(try await claimer.claim(9).isEmpty)
            #expect(try await floor() == 7)
        }
    }
}
