import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Due jobs run in time, whatever the handlers hold and however rarely the worker polls.
@Suite(.timeLimit(.minutes(5))) struct DueTests {
    @Test func dueJobsDoNotWaitForHandlersThatHoldAllConnections() async throws {
        let greedy = JobKind<Note>("test.greedy")
        let late = JobKind<Note>("test.late")
        try await JobHarness.with { harness in
            try await harness.database.withPool(maximumConnections: 1) { handlers in
                var registry = JobRegistry()
                try registry.register(greedy) { _, context in
                    try await handlers.withConnection { connection in
                        let isLateDone: Statement = "select exists (select from public.effects where note = 'late')"
                        while try connection.one(isLateDone, as: Bool.self) == false {
                            try await Task.sleep(for: .milliseconds(10))
                        }
                    }
                    return .completed()
                }
                try registry.register(late) { _, context in
                    // The first attempt fails, like a code to which Apple gave no answer.
                    guard context.attempt > 1 else { return .retry(reason: "no answer") }
                    try await harness.effect(context, "late")
                    return .completed()
                }
                try await harness.enqueue([greedy.job(Note()), late.job(Note())])
                let worker = try harness.worker(registry, in: handlers, control: harness.pool)
                try await harness.withWorker(worker) {
                    try await harness.until { try await harness.unfinished() == 0 }
                }
            }
        }
    }

    @Test func dueJobsDoNotWaitForTheNextPoll() async throws {
        let kind = JobKind<Note>("test.late")
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, context in
                try await harness.effect(context)
                return try await harness.effects() == 1 ? .retry(after: .seconds(1), reason: "no answer") : .completed()
            }
            try await harness.enqueue([kind.job(Note())])
            let change: @Sendable (inout WorkerConfiguration) -> Void = { configuration in
                configuration.pollInterval = .seconds(3600)
                configuration.leaseLifetime = .seconds(2)
            }
            try await harness.withWorker(registry, change) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
    }

    /// A job's timeout begins when the job was claimed, not when the worker began to wait for a connection.
    @Test func aJobHasItsWholeTimeHoweverLongItsClaimWaited() async throws {
        let short = JobKind<Note>("test.short", timeout: .seconds(60))
        try await JobHarness.with { harness in
            let deadline = Mutex<ContinuousClock.Instant?>(nil)
            let registry = try JobRegistry(short) { _, context in
                deadline.withLock { $0 = context.deadline }
                return .completed()
            }
            try await harness.database.withPool(maximumConnections: 1, sessionSettings: JobQueue.controlSettings) {
                control in
                let worker = try harness.worker(registry, control: control)
                try await harness.withWorker(worker) {
                    try await harness.untilBeaten()
                    let letGo = try await control.withConnection { _ in
                        try await harness.enqueue([short.job(Note())])
                        worker.wake()
                        // The claim waits for the connection that is held here.
                        try await harness.until { worker.isClaiming }
                        return ContinuousClock.now
                    }
                    try await harness.until { try await harness.finished("completed") == 1 }
                    let told = deadline.withLock { $0 }
                    let end = try #require(told)
                    #expect(end >= letGo.advanced(by: .seconds(60)))
                }
            }
        }
    }

    /// A session that locks the row of a limit blocks neither outcomes nor claims of jobs without a limit.
    @Test func aHeldLimitStopsNoOtherLane() async throws {
        let plain = JobKind<Note>("test.plain")
        let limited = JobKind<Note>("test.limited", limits: .init(running: 1))
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            for kind in [plain, limited] {
                try registry.register(kind) { _, context in
                    try await harness.effect(context)
                    return .completed()
                }
            }
            try await harness.withWorker(registry) {
                try await harness.until {
                    try await harness.count("select count(*) from accountctl.job_limits") == 1
                }
                try await harness.pool.withTransaction { connection in
                    try connection.execute("select from accountctl.job_limits for update")
                    try await harness.enqueue([limited.job(Note())])
                    // One job after the other, so that each claim and each outcome could wait for the lock.
                    try await harness.until {
                        let done = try await harness.finished("completed")
                        if try await harness.unfinished() == 1 { try await harness.enqueue([plain.job(Note())]) }
                        return done >= 20
                    }
                }
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
    }

    /// A session that locks the row of one job delays the outcome of that job only.
    ///
    /// A client that is gone holds such a lock for as long as its statement runs.
    @Test(arguments: [JobOutcome.completed(), .retry(after: .zero, reason: "no answer")])
    func aHeldRowDelaysItsOwnOutcomeOnly(_ outcome: JobOutcome) async throws {
        let held = JobKind<Note>("test.held")
        let plain = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(held) { _, context in
                try await harness.effect(context, "held")
                try await harness.until {
                    try await harness.count("select count(*) from public.effects where note = 'locked'") == 1
                }
                return context.attempt > 1 ? .completed() : outcome
            }
            try registry.register(plain) { _, context in .completed() }
            let job = try await harness.enqueue([held.job(Note())])[0].id
            let lines = LogLines()
            let worker = try harness.worker(registry, logger: lines.logger)
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.effects() == 1 }
                try await harness.pool.withTransaction { other in
                    try other.execute("select from accountctl.jobs where id = \(job) for share")
                    try await harness.execute("insert into public.effects (job, note) values (0, 'locked')")
                    try await harness.until { lines.all.contains { $0.contains("another session has locked") } }
                    var took: [Duration] = []
                    for number in 1...20 {
                        let began = ContinuousClock.now
                        try await harness.enqueue([plain.job(Note())])
                        try await harness.until { try await harness.finished("completed") == number }
                        took.append(ContinuousClock.now - began)
                    }
                    // Each claim would wait a second for the lock. The median allows for a busy machine.
                    #expect(took.sorted()[10] < .seconds(1), "\(took)")
                    #expect(worker.core.withLock { $0.failures } == 0)
                }
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
    }

    /// A job that becomes available again gets a fresh ready time: it comes behind the jobs that wait already, and not
    /// below the bounds of claims.
    @Test func promotingAndRetryingWriteAFreshReadyTime() async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let later = Date(timeIntervalSinceNow: 3600)
            let ids = try await harness.enqueue(try (0..<5).map { _ in try kind.job(Note(), runAt: later) }).map(\.id)
            try await harness.execute(
                """
                update accountctl.jobs
                set run_at = now() - interval '1 hour',
                    state = case when id = \(ids[1]) then 'available'::accountctl.job_state else state end
                where id in (\(ids[0]), \(ids[1]))
                """
            )
            try await harness.execute(
                "update accountctl.jobs set state = 'parked', parked_for = 'newer' where id = \(ids[2])"
            )
            try await harness.pool.withConnection { connection in
                let queue = harness.queue
                try queue.discard(ids[3], reason: "test", on: connection)
                let begun = try connection.one("select clock_timestamp()::text", as: String.self)
                #expect(try queue.promote(on: connection).promoted == 1)
                for id in ids.dropFirst() { _ = try queue.retry(id, on: connection) }
                let fresh = try connection.query(
                    """
                    select id
                    from accountctl.jobs
                    where state = 'available'
                    and run_at between \(begun)::timestamptz and clock_timestamp()
                    order by id
                    """,
                    as: Int64.self
                )
                #expect(fresh == ids)
            }
        }
    }

    /// A schedule whose last instant is further back than the search goes still enqueues its first instant.
    @Test func aScheduleWithoutAnInstantOfThePastIsRemembered() async throws {
        let kind = JobKind<Note>("test.leap")
        let periodic = try PeriodicJob(name: "leap", schedule: "0 0 29 2 *", job: kind.job(Note()))
        try await JobHarness.with { harness in
            let ours = try await harness.pool.withConnection { connection in
                let now = Int(Date().timeIntervalSince1970)
                for _ in 0..<2 { try harness.queue.remember(periodic, at: now, on: connection) }
                return try await harness.queue.enqueue(periodic, at: now + 86_400, on: connection)
            }
            #expect(ours)
            #expect(try await harness.count("select count(*) from accountctl.periodic_slots") == 2)
        }
    }

    /// A worker that makes room for a suspect goes on at once if another worker takes the suspect, or somebody cancels
    /// it.
    @Test func aSuspectThatIsGoneHoldsUpNothing() async throws {
        try await JobHarness.with { harness in
            let (end, ends) = AsyncStream.makeStream(of: Void.self)
            let registry = try JobRegistry(JobHarness.plain) { note, _ in
                if note.text == "long" { for await _ in end {} }
                return .completed()
            }
            let worker = try harness.worker(registry)
            try await harness.withWorker(worker) {
                try await harness.enqueue([JobHarness.plain.job(Note(text: "long"))])
                try await harness.until { worker.core.withLock { $0.plan.running } == 1 }
                let suspect = try await harness.pool.withTransaction { connection in
                    let id = try harness.queue.enqueue([JobHarness.plain.job(Note())], on: connection)[0].id
                    try connection.execute("update accountctl.jobs set crashes = 1 where id = \(id)")
                    return id
                }
                try await harness.until { worker.core.withLock { !$0.suspects.allowsOrdinary } }
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.cancel(suspect, reason: "x", on: connection)
                }
                try await harness.enqueue([JobHarness.plain.job(Note())])
                try await harness.until(within: .seconds(15)) { try await harness.finished("completed") == 1 }
                ends.finish()
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
    }

    /// Nobody may claim a suspect of a paused queue: ordinary jobs do not wait to leave it alone with the worker.
    @Test func aSuspectOfAPausedQueueHoldsUpNothing() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            try await harness.execute("update accountctl.jobs set crashes = 1")
            let (before, paused) = try await harness.pool.withConnection { connection in
                let before = try harness.queue.hasSuspects(JobHarness.plainLanes, on: connection)
                try harness.queue.pause(queue: "default", reason: nil, on: connection)
                return (before, try harness.queue.hasSuspects(JobHarness.plainLanes, on: connection))
            }
            #expect(before && !paused)
        }
    }
}
