import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Leases after a failover that lost the end of the log, or after a restore: numbers repeat, and writes may be gone.
@Suite(.timeLimit(.minutes(5))) struct DatabaseLifeTests {
    private static let kind = JobKind<Note>("test.plain")
    private static let lanes = JobHarness.plainLanes

    private static let verdicts: [Verdict] = {
        let failure = Verdict.Failure(attempt: 1, error: "x")
        return [
            .giveBack(.init()), .giveBack(.init(wait: .seconds(9), givesAttemptBack: true)),
            .park(reason: "undecodable", failure: failure), .end(.completed), .end(.discarded),
            .end(.cancelled, reason: "x", failure: failure),
        ]
    }()

    private func claim(_ harness: JobHarness) async throws -> ClaimedJob {
        try await harness.pool.withConnection { connection in
            let worker = try harness.queue.addWorker(Self.lanes, on: connection)
            return try #require(
                try harness.queue.claim(Self.lanes, .init(worker: worker, limit: 1), on: connection).first
            )
        }
    }

    /// Expects that no verdict, progress or fenced transaction of the job lands, and that no heartbeat finds it held.
    private func expectLost(_ job: ClaimedJob, _ harness: JobHarness) async throws {
        let row: Statement = "select to_jsonb(j)::text from accountctl.jobs as j"
        let before = try await harness.pool.withConnection { try $0.one(row, as: String.self) }
        for verdict in Self.verdicts {
            let progress = ExchangeProgress()
            try await harness.pool.withConnection { connection in
                try Settlement(queue: harness.queue)
                    .write([FinishedJob(job: job, verdict: verdict)], progress, on: connection)
            }
            #expect(progress.written.lost == [job.leased], "\(verdict)")
        }
        await #expect(throws: JobQueueError.self) {
            try await harness.pool.withConnection { connection in
                try JobFence(queue: harness.queue, job: job.leased).hold(on: connection)
            }
        }
        let context = JobContext(
            running: RunningJob(job: job, startedAt: .now, timeout: .seconds(60)),
            queue: harness.queue,
            trust: { .now + .seconds(60) },
            serverTime: { .now },
            pool: harness.pool,
            logger: harness.logger
        )
        await #expect(throws: JobQueueError.self) { try await context.setProgress(Note(text: "half")) }
        let answer = try await harness.pool.withConnection { connection in
            try harness.beat(job.leased.worker, [job], releasesUpTo: .max / 2, on: connection)
        }
        #expect(answer?.held.isEmpty != false)
        #expect((answer?.released ?? 0) == 0)
        #expect(try await harness.pool.withConnection { try $0.one(row, as: String.self) } == before)
    }

    /// A lease belongs to one worker, even if another worker gets the same number for the same job.
    @Test func aLeaseIsThatOfOneWorker() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let stale = try await claim(harness)
            try await harness.execute(
                "update accountctl.jobs set state = 'available', worker = null, lease = 0, attempt = 0"
            )
            try await harness.database.psql("select setval('accountctl.job_leases', \(stale.lease), false)")
            let fresh = try await claim(harness)
            #expect(fresh.id == stale.id)
            #expect(fresh.lease == stale.lease)
            try await expectLost(stale, harness)
            let written = try await harness.pool.withConnection { connection in
                try harness.queue.finish(.init(outcome: .completed, jobs: [fresh.leased]), on: connection)
            }
            #expect(written == [fresh.leased])
        }
    }

    /// The table shows the job as held only because it is older than the worker's lost writes.
    @Test func whatWasHeldInAnEarlierLifeIsHeldNoMore() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let job = try await claim(harness)
            try await harness.execute("update accountctl.workers set life = 'an earlier one'")
            try await expectLost(job, harness)
            // A release is right whatever was lost.
            let released = try await harness.pool.withConnection { connection in
                try harness.queue.release([job.leased], on: connection)
            }
            #expect(released == [job.leased])
        }
    }

    /// A worker of an earlier life claims nothing, since it could end none of the jobs.
    @Test func aWorkerOfAnEarlierLifeBeginsNothing() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let queue = harness.queue
            let lanes = Self.lanes + [Lane(queue: "default", kind: "test.other", timeout: .seconds(60))]
            for change in ["life = 'an earlier one'", "stopped_at = now(), stop_reason = 'lost'", nil] {
                let claims = try await harness.pool.withConnection { connection in
                    let worker = try queue.addWorker(lanes, on: connection)
                    if let change {
                        try connection.execute(
                            "update accountctl.workers set \(unsafeSQL: change) where id = \(worker)"
                        )
                    }
                    let request = JobQueue.ClaimRequest(worker: worker, limit: 5)
                    return [
                        try queue.claim(Self.lanes, request, on: connection).count,
                        try queue.claim(lanes, request, on: connection).count,
                        try await queue.claimLimited(Self.lanes, request, on: connection).jobs.count,
                    ]
                }
                #expect(claims == (change == nil ? [1, 0, 0] : [0, 0, 0]), "\(change ?? "as it is")")
            }
        }
    }

    /// A handler that ignores its cancellation may be in the midst of a call that must not run twice at once: its job
    /// is kept until it returns.
    @Test func aJobIsGivenUpWhenItsHandlerIsDone() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([Self.kind.job(Note())])[0].id
            let (told, end) = (AsyncStream<Never>.makeStream(), AsyncStream<Never>.makeStream())
            defer { end.continuation.finish() }
            let registry = try JobRegistry(Self.kind) { _, context in
                try await harness.effect(context)
                guard try await harness.effects() == 1 else { return .completed() }
                let call = Task { for await _ in end.stream {} }
                await withTaskCancellationHandler {
                    await call.value
                } onCancel: {
                    told.continuation.finish()
                }
                return .completed()
            }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(60) }
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.effects() == 1 }
                let held: Statement = """
                    select count(*)
                    from accountctl.jobs
                    where state = 'running'
                    and worker = (select min(id) from accountctl.workers where life = 'an earlier one')
                    """
                try await harness.execute("update accountctl.workers set life = 'an earlier one'")
                await worker.beat()
                for await _ in told.stream {}
                await worker.beat()
                #expect(try await harness.count(held) == 1)
                end.continuation.finish()
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.effects() == 2)
            let record = try await harness.show(id)?.record
            #expect(record?.attempt == 1)
            #expect(record?.crashes == 0)
        }
    }

    /// Behind a pooler a lost outcome is the only sign of a failover.
    @Test func anOutcomeThatIsLostIsFollowedByAHeartbeat() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let end = AsyncStream<Never>.makeStream()
            defer { end.continuation.finish() }
            let registry = try JobRegistry(Self.kind) { _, context in
                try await harness.effect(context)
                if try await harness.effects() == 1 { for await _ in end.stream {} }
                return .completed()
            }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(600) }) {
                try await harness.until { try await harness.effects() == 1 }
                try await harness.execute("update accountctl.workers set life = 'an earlier one'")
                end.continuation.finish()
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.effects() == 2)
        }
    }

    /// The job that a worker had enqueued for an instant of a schedule is gone: the worker enqueues it once more.
    @Test func anInstantThatIsGoneIsEnqueuedOnceMore() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(Self.kind) { _, _ in .completed() }
            // The nearest instants are half a day away on both sides: none comes during the test.
            let hour = (Int(Date().timeIntervalSince1970) / 3600 + 12) % 24
            try registry.schedule(
                PeriodicJob(name: "nightly", schedule: "0 \(hour) * * *", job: try Self.kind.job(Note()))
            )
            // The first instant ever seen would only be recorded; one older than a week may be deleted meanwhile.
            try await harness.execute(
                "insert into accountctl.periodic_slots (name, slot) values ('nightly', now() - interval '3 days')"
            )
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(1) }) {
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.execute(
                    """
                    with gone as (
                        delete from accountctl.periodic_slots where slot > now() - interval '2 days'
                    )
                    update accountctl.workers set life = 'an earlier one'
                    """
                )
                try await harness.until { try await harness.finished("completed") == 2 }
            }
        }
    }

    /// Behind a pooler nothing else shows that the database was away.
    @Test func anExchangeThatSucceedsAgainIsFollowedByAHeartbeat() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await harness.withWorker(worker) {
                try await harness.untilBeaten()
                try await harness.execute("update accountctl.workers set life = 'an earlier one'")
                try await harness.enqueue([Self.kind.job(Note())])
                // As if the exchanges until now had failed.
                worker.core.withLock { $0.failures = 1 }
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// An idle worker learns of a failover by a heartbeat alone, and sends one because its listener's connection broke.
    @Test func aListenerThatComesBackIsFollowedByAHeartbeat() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                try await harness.withWorker(registry, listener: JobListener(through, logger: harness.logger)) {
                    $0.leaseLifetime = .seconds(600)
                } _: {
                    try await harness.database.waitUntilListening("accountctl_jobs")
                    try await harness.untilBeaten()
                    proxy.behaviour = .cut
                    try await harness.database.waitUntilNobodyListens("accountctl_jobs")
                    try await harness.execute("update accountctl.workers set life = 'an earlier one'")
                    try await harness.enqueue([Self.kind.job(Note())])
                    proxy.behaviour = .forward
                    try await harness.until { try await harness.finished("completed") == 1 }
                }
            }
        }
    }

    /// The worker registers anew: its jobs are stopped, and run again without an attempt used or a crash counted.
    @Test func aWorkerOutlivesTheLifeOfTheDatabase() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([Self.kind.job(Note())])[0].id
            let stops = Mutex<[String]>([])
            let registry = try JobRegistry(Self.kind) { _, context in
                try await harness.effect(context)
                guard try await harness.effects() == 1 else { return .completed() }
                try? await Task.sleep(for: .seconds(60))
                stops.withLock { $0.append("\(Task.isCancelled)") }
                return .completed()
            }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(20) }) {
                try await harness.until { try await harness.effects() == 1 }
                let old = try await harness.count("select id from accountctl.workers")
                try await harness.execute("update accountctl.workers set life = 'an earlier one'")
                try await harness.until { try await harness.unfinished() == 0 }
                #expect(
                    try await harness.count("select count(*) from accountctl.workers where stopped_at is null") == 1
                )
                #expect(
                    try await harness.count("select id from accountctl.workers where stopped_at is null") != old
                )
            }
            #expect(stops.withLock { $0 } == ["true"])
            let record = try await harness.show(id)?.record
            #expect(record?.attempt == 1)
            #expect(record?.crashes == 0)
        }
    }
}
