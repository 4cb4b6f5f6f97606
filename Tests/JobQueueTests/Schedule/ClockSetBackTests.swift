import Foundation
import Postgres
import Synchronization
import Testing

@testable import JobQueue

/// The server's clock was set back by an hour: no job that a worker held, or that was told to wait, waits until it has
/// caught up.
@Suite(.timeLimit(.minutes(5))) struct ClockSetBackTests {
    /// Makes the workers look as if they had sent their last heartbeat before the clock was set back.
    private func setBack(_ harness: JobHarness) async throws {
        try await harness.execute(
            """
            update accountctl.workers
            set beat_at = beat_at + interval '1 hour', expires_at = expires_at + interval '1 hour'
            """
        )
    }

    /// A worker that died keeps its jobs for one more lease only.
    @Test func aDeadWorkersJobsAreTaken() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let dead = try await harness.host(lifetime: .seconds(1))
            #expect(try await harness.claim(dead).count == 1)
            try await setBack(harness)
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(4) }) {
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// A worker that was running when the clock was set back takes them as well.
    @Test func aRunningWorkerTakesThem() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let dead = try await harness.host(lifetime: .seconds(600))
            #expect(try await harness.claim(dead).count == 1)
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(4) }
            try await harness.withWorker(worker) {
                // The check at its start is over.
                try await harness.until { worker.core.withLock { !$0.server.mayHaveGoneBack } }
                try await harness.execute(
                    """
                    update accountctl.workers
                    set beat_at = clock_timestamp() + interval '1 hour',
                        expires_at = clock_timestamp() + interval '1 hour 1 second'
                    where id = \(dead)
                    """
                )
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// A failed job, and one whose handler did not stop, wait no longer than they were told to; a job enqueued for an
    /// instant keeps it.
    @Test func waitsBeginAnew() async throws {
        try await JobHarness.with { harness in
            let later = Date(timeIntervalSinceNow: 7200)
            try await harness.enqueue([
                JobHarness.plain.job(Note()), JobHarness.plain.job(Note()), JobHarness.plain.job(Note(), runAt: later),
            ])
            let worker = try await harness.host()
            let jobs = try await harness.claim(worker, 2).map(\.leased)
            let waits = try await harness.pool.withConnection { connection in
                let back = try harness.queue.giveBack([.init(jobs[0], NextTurn(wait: .seconds(60)))], on: connection)
                #expect(back.count == 1)
                let taken = try harness.queue.takeOverdue([jobs[1]], alarmed: [:], on: connection)
                #expect(taken == 1)
                try connection.execute(
                    """
                    update accountctl.jobs
                    set run_at = run_at + interval '1 hour', waiting_since = waiting_since + interval '1 hour'
                    """
                )
                let renewed = try harness.queue.renewWaitsAhead(on: connection)
                #expect(renewed == 2)
                // Whoever starts looks for them, and must not put off what began before.
                let again = try harness.queue.renewWaitsAhead(on: connection)
                #expect(again == 0)
                return try connection.query(
                    """
                    select round(extract(epoch from run_at - clock_timestamp()) / 600)::bigint
                    from accountctl.jobs
                    order by 1
                    """,
                    as: Int64.self
                )
            }
            // In units of ten minutes.
            #expect(waits == [0, 0, 18])
        }
    }

    /// An answer that took long, and a clock that runs on or was set forward, are no reason to look at the waits.
    @Test(arguments: [(10, 10, false), (70, 10, false), (10, 3600, false), (70, 9, true), (10, -3600, true)])
    func onlyAClockThatWentBackIsNoticed(_ passed: Int, _ told: Int64, _ isNoticed: Bool) {
        let start = ContinuousClock.now
        var server = ServerContact()
        #expect(server.mayHaveGoneBack)
        server.told(4_000_000_000, now: start)
        server.mayHaveGoneBack = false
        server.told(4_000_000_000 + told * 1_000_000, now: start.advanced(by: .seconds(passed)))
        #expect(server.mayHaveGoneBack == isNoticed)
    }

    /// Adds jobs that were told to wait for a tenth of a second before the clock was set back.
    private func addWaitingJobs(_ count: Int, _ harness: JobHarness) async throws {
        try await harness.execute(
            """
            insert into accountctl.jobs (queue, kind, args, state, run_at, waiting_since)
            select 'default', 'test.plain', '{"text": ""}', 'scheduled',
                now() + interval '1 hour 0.1 seconds', now() + interval '1 hour'
            from generate_series(1, \(count))
            """
        )
    }

    /// A worker that ends when idle ends long before a running one would look for such jobs.
    @Test func aWorkerThatEndsWhenIdleLetsWaitsBeginAnew() async throws {
        try await JobHarness.with { harness in
            try await addWaitingJobs(1, harness)
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            try await harness.worker(registry).runUntilIdle()
            let ahead: Statement = "select count(*) from accountctl.jobs where run_at > now() + interval '1 minute'"
            #expect(try await harness.count(ahead) == 0)
        }
    }

    /// A worker looks for such jobs when it starts, and whenever its heartbeats show that the clock was set back; it
    /// takes as many statements as it needs.
    @Test func aRunningWorkerLetsWaitsBeginAnew() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(4) }
            try await addWaitingJobs(1, harness)
            try await harness.withWorker(worker) {
                // The check at its start is over.
                try await harness.until { try await harness.finished("completed") == 1 }
                try await addWaitingJobs(JobQueue.promotedAtOnce + 1, harness)
                // As if the server's clock had been an hour ahead when it last answered.
                worker.core.withLock { core in
                    core.server.clock = core.server.clock.map { (time: $0.time + 3_600_000_000, at: $0.at) }
                }
                try await harness.until {
                    try await harness.finished("completed") == JobQueue.promotedAtOnce + 2
                }
            }
        }
    }

    /// A job that is woken while it runs has another turn at once.
    @Test func aRunningJobThatIsWokenGoesOn() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note(), uniqueKey: "woken")])
            let job = try await harness.claim(try await harness.host())[0].leased
            try await harness.execute("update accountctl.jobs set claimed_at = claimed_at + interval '1 hour'")
            let isAvailable = try await harness.pool.withConnection { connection in
                try harness.queue.runNow(keys: ["woken"], on: connection)
                return try harness.queue.giveBack([.init(job, NextTurn(wait: .seconds(60)))], on: connection)[job]
            }
            #expect(isAvailable == true)
        }
    }

    /// One that is alive still has all of its lease.
    @Test func aLiveWorkerKeepsItsJobs() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let worker = try await harness.host(lifetime: .seconds(600))
            #expect(try await harness.claim(worker).count == 1)
            try await setBack(harness)
            try await harness.pool.withConnection { try harness.queue.renewBeatsAhead(on: $0) }
            #expect(try await harness.rescue() == 0)
            let left = try await harness.count(
                "select extract(epoch from expires_at - clock_timestamp())::bigint from accountctl.workers"
            )
            #expect((500...600).contains(left))
        }
    }
}
