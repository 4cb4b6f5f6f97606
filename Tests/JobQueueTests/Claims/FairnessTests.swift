import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// No job starves: not behind more urgent work, not behind kinds without limits, not for want of a notification.
@Suite(.timeLimit(.minutes(5))) struct FairnessTests {
    static let plain = JobKind<Note>("test.plain")
    static let limited = JobKind<Note>("test.limited", limits: .init(running: 1))

    /// A limited kind gets its turn although another kind always has more jobs than there are slots.
    @Test func limitedKindsHaveTheirTurn() async throws {
        try await JobHarness.with { harness in
            let plainRuns = Mutex(0)
            let plainRunsBefore = Mutex(0)
            let limitedRuns = Mutex(0)
            var registry = JobRegistry()
            try registry.register(Self.plain) { note, context in
                plainRuns.withLock { $0 += 1 }
                // Each job enqueues its successor: the backlog never ends.
                try await harness.enqueue([Self.plain.job(note)])
                return .completed()
            }
            try registry.register(Self.limited) { _, _ in
                plainRunsBefore.withLock { $0 = plainRuns.withLock(\.self) }
                // This handler ends at once: the next limited job cannot begin before that, while the others go on.
                limitedRuns.withLock { $0 += 1 }
                return .completed()
            }
            try await harness.enqueue(try (0..<40).map { _ in try Self.plain.job(Note()) })
            try await harness.enqueue(try (0..<5).map { _ in try Self.limited.job(Note()) })
            try await harness.withWorker(registry, { $0.slots = 4 }) {
                try await harness.until { limitedRuns.withLock(\.self) == 5 }
                // One limited job in a few rounds of all slots, not one whenever the others happen to be done.
                #expect(plainRunsBefore.withLock(\.self) < 100)
            }
        }
    }

    /// A claim skips a locked job and takes less urgent jobs of its lane instead, in claims of several lanes too.
    @Test func lockedJobsLeaveTheirPlaceToLessUrgentOnes() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let lanes = ["test.plain", "test.other"].map {
                Lane(queue: "default", kind: $0, timeout: .seconds(60))
            }
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, priority)
                select 'default', 'test.plain', priority from unnest(array[1, 5, 5]) as priority
                """
            )
            let worker = try await harness.pool.withConnection { connection in
                try queue.addWorker(lanes, on: connection)
            }
            let claim = { @Sendable in
                try await harness.pool.withConnection {
                    try queue.claim(lanes, .init(worker: worker, limit: 1), on: $0).map(\.priority)
                }
            }
            try await harness.pool.withTransaction { other in
                _ = try other.query("select id from accountctl.jobs where priority = 1 for update", as: Int64.self)
                #expect(try await claim() == [5])
            }
            #expect(try await claim() == [1])
        }
    }

    /// Urgent jobs run in the reserved slots while all others are taken, and the next ordinary job begins when one of
    /// those ends; no poll is needed.
    @Test func urgentJobsRunWhileAllSlotsAreTaken() async throws {
        let urgent = JobKind<Note>("test.urgent", priority: 0, isUrgent: true)
        try await JobHarness.with { harness in
            let ended = Mutex(0)
            var registry = JobRegistry()
            try registry.register(Self.plain) { note, context in
                try await harness.effect(context, "plain")
                try await harness.until { ended.withLock { "\($0)" > note.text } }
                return .completed()
            }
            try registry.register(urgent) { _, context in
                try await harness.effect(context, "urgent")
                return .completed()
            }
            let listener = JobListener(harness.database.configuration, logger: harness.logger)
            let worker = try harness.worker(registry, listener: listener) {
                $0.slots = 2
                $0.reservedSlots = 1
                $0.pollInterval = .seconds(3600)
            }
            let begun = { @Sendable (note: String) in
                try await harness.count("select count(*) from public.effects where note = \(note)")
            }
            try await harness.withWorker(worker) {
                try await harness.database.waitUntilListening("accountctl_jobs")
                try await harness.enqueue(try (0..<4).map { try Self.plain.job(Note(text: "\($0)")) })
                try await harness.until { try await begun("plain") == 2 }
                try await harness.enqueue(try (0..<3).map { _ in try urgent.job(Note()) })
                try await harness.until { try await begun("urgent") == 3 }
                #expect(try await begun("plain") == 2)
                ended.withLock { $0 = 1 }
                try await harness.until { try await begun("plain") == 3 }
                ended.withLock { $0 = 4 }
                try await harness.until { try await harness.finished("completed") == 7 }
            }
        }
    }

    /// The slot of a job whose lease was lost is taken by the next job at once, though another still runs and no poll
    /// comes.
    @Test func aSlotThatALostLeaseLeavesIsTaken() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { note, context in
                try await harness.effect(context, note.text)
                try await Task.sleep(for: .seconds(3600))
                return .completed()
            }
            let ids = try await harness.enqueue(
                try ["lost", "long", "next"].map { try Self.plain.job(Note(text: $0)) }
            ).map(\.id)
            let change = { @Sendable (configuration: inout WorkerConfiguration) in
                configuration.slots = 2
                configuration.pollInterval = .seconds(3600)
                configuration.leaseLifetime = .seconds(8)
            }
            try await harness.withWorker(registry, change) {
                try await harness.until { try await harness.effects() == 2 }
                try await harness.execute("delete from accountctl.jobs where id = \(ids[0])")
                try await harness.until {
                    try await harness.count("select count(*) from public.effects where note = 'next'") == 1
                }
            }
        }
    }

    @Test func oldJobsMoveUp() async throws {
        let lanes = JobHarness.plainLanes
        try await JobHarness.with { harness in
            try await harness.enqueue([
                Self.plain.job(Note(), priority: 9), Self.plain.job(Note(), priority: 1), Self.plain.job(Note()),
            ])
            try await harness.execute(
                "update accountctl.jobs set run_at = now() - interval '1 hour' where priority <> 5"
            )
            let age = { @Sendable in
                try await harness.pool.withConnection { connection in
                    try harness.queue.age(lanes, after: .seconds(600), on: connection)
                }
            }
            #expect(try await age() == 1)
            #expect(try await age() == 0)
            #expect(try await harness.count("select sum(priority)::int from accountctl.jobs") == 8 + 1 + 5)
            // Moving up changes a job's place, not the age that is reported: checked twice.
            try await harness.execute("delete from accountctl.jobs where priority <> 8")
            for _ in 0..<2 {
                let oldest = try await harness.pool.withConnection { try harness.queue.figures(on: $0) }.oldestReady
                #expect(oldest["default"] ?? 0 >= 3600)
                try await harness.execute(
                    "update accountctl.jobs set run_at = now() - interval '20 minutes', aged_at = now() - interval '20 minutes'"
                )
                #expect(try await age() == 1)
            }
            let claimed = try await harness.pool.withConnection { connection in
                let worker = try harness.queue.addWorker(lanes, on: connection)
                return try harness.queue.claim(lanes, .init(worker: worker, limit: 1), on: connection)
            }
            #expect(claimed.map { $0.waited >= 3_600_000_000 } == [true])
        }
    }

    /// With polling practically off a job begins by notification alone, and one without a notification by polling
    /// alone.
    @Test(arguments: [true, false]) func jobsAreFoundByNotificationOrByPolling(byNotification: Bool) async throws {
        try await JobHarness.with { harness in
            let registry = try harness.recording(Self.plain)
            let listener = JobListener(harness.database.configuration, logger: harness.logger)
            let worker = try harness.worker(registry, listener: byNotification ? listener : nil) {
                $0.pollInterval = byNotification ? .seconds(3600) : .milliseconds(50)
            }
            try await harness.withWorker(worker) {
                for number in 1...5 {
                    // The worker is idle each time: only this job's notification can wake it.
                    if byNotification {
                        try await harness.database.waitUntilListening("accountctl_jobs")
                        try await harness.enqueue([Self.plain.job(Note())])
                    } else {
                        try await harness.execute(
                            "select accountctl.enqueue_job('test.plain', '{\"text\":\"\"}', wake => false)"
                        )
                    }
                    try await harness.until { try await harness.finished("completed") == number }
                }
            }
        }
    }

    /// The waker loses no wake-up when signals come faster than it sends notifications.
    @Test func aWakerCoalescesAndSendsTheLast() async throws {
        try await JobHarness.with { harness in
            let waker = JobWaker()
            #expect(waker.signal(["default"]) == ["default"])
            try await harness.withWorker(wokenBy: waker) { queue in
                for _ in 0..<100 { try await queue.enqueue([Self.plain.job(Note())], in: harness.pool) }
                try await harness.until { try await harness.effects() == 100 }
            }
        }
    }

    /// The first job of a burst notifies in its own transaction: the notification arrives with the commit, and not
    /// before.
    @Test func aJobIsToldOfWithItsCommit() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let job = try Self.plain.job(Note())
            let heard = try await harness.database.heard(on: "accountctl_jobs") {
                try await harness.pool.withConnection { connection in
                    try await connection.transaction { connection in
                        _ = try queue.enqueueAndNotify(job, on: connection)
                        try connection.execute("select pg_notify('accountctl_jobs', 'last of the transaction')")
                    }
                }
            }
            #expect(heard == ["default", "last of the transaction"])
        }
    }

    /// The first job of a burst takes the waker's turn, notifies, and gives the turn back.
    @Test func theFirstOfABurstIsToldOfAtOnce() async throws {
        try await JobHarness.with { harness in
            let waker = JobWaker(interval: .nanoseconds(1))
            try await harness.withWorker(wokenBy: waker) { queue in
                try await harness.until { waker.isRunning }
                for number in 1...3 {
                    let enqueued = try await queue.enqueue([Self.plain.job(Note())], in: harness.pool)
                    #expect(enqueued.map(\.isNew) == [true])
                    try await harness.until { try await harness.finished("completed") == number }
                }
                #expect(waker.takeTurn(), "nobody has it")
            }
        }
    }

    /// The caller is cancelled after the job is enqueued and before anybody is notified: the waker notifies instead.
    @Test func aWakeUpThatCouldNotBeSentIsNotLost() async throws {
        try await JobHarness.with { harness in
            // With this interval every caller that signals sends by itself.
            let waker = JobWaker(interval: .nanoseconds(1))
            try await harness.withWorker(wokenBy: waker) { queue in
                try await harness.until { waker.isRunning }
                let job = try Self.plain.job(Note())
                let enqueuing = Task {
                    try await harness.pool.withConnection { connection in
                        try queue.enqueue([job], on: connection)
                        withUnsafeCurrentTask { $0?.cancel() }
                        try queue.wake(["default"], on: connection)
                    }
                }
                await #expect(throws: CancellationError.self) { try await enqueuing.value }
                try await harness.until { try await harness.effects() == 1 }
            }
        }
    }
}

extension JobHarness {
    /// Runs the waker, and a worker that finds plain jobs by notifications alone, while `body` runs.
    fileprivate func withWorker(wokenBy waker: JobWaker, _ body: @escaping @Sendable (JobQueue) async throws -> Void)
        async throws
    {
        let queue = JobQueue(waker: waker)
        let registry = try recording(FairnessTests.plain)
        let listener = JobListener(database.configuration, logger: logger)
        let worker = try worker(registry, listener: listener) { $0.pollInterval = .seconds(3600) }
        try await withWorker(worker) {
            // This task is cancelled when the body ends.
            async let _: Void = waker.run(in: pool, queue: queue, logger: logger)
            try await database.waitUntilListening("accountctl_jobs")
            try await body(queue)
        }
    }
}
