import Foundation
import Postgres
import Testing

@testable import JobQueue

/// A worker that ends as soon as it is idle, as cron starts it, first finds out what there is to do.
@Suite(.timeLimit(.minutes(5))) struct UntilIdleTests {
    private let kind = JobKind<Note>("test.idle")

    @Test func jobsOfALostWorkerAreDone() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                with lost as (
                    insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                    values ('lost', '1', 1, '{}', '{}', now() - interval '1 minute')
                    returning id
                )
                insert into accountctl.jobs (queue, kind, args, state, worker, lease)
                select 'default', \(kind.name), '{"text":""}', 'running', id, nextval('accountctl.job_leases')
                from lost
                """
            )
            try await harness.worker(try harness.recording(kind)) { $0.leaseLifetime = .seconds(4) }.runUntilIdle()
            #expect(try await harness.effects() == 1)
        }
    }

    /// The database may have been down for all workers until now: one that is about to send a heartbeat is not lost.
    @Test func aWorkerThatMayStillBeatIsWaitedFor() async throws {
        try await JobHarness.with { harness in
            let (other, job) = try await harness.lateClaim()
            try await harness.enqueue([kind.job(Note())])
            let worker = try harness.worker(try harness.recording(kind)) { $0.leaseLifetime = .seconds(600) }
            let run = Task { try await worker.runUntilIdle() }
            // By then the worker has looked for jobs, and has nothing else to do.
            try await harness.until { try await harness.finished("completed") == 1 }
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(other, [job], on: connection)
            }
            #expect(answer?.held == [job.leased])
            try await run.value
            let theirs = try await harness.show(job.id)?.record
            #expect(theirs?.state == .running && theirs?.crashes == 0)
        }
    }

    /// Jobs that a rate or a limit leaves for later could not run now, and neither could a suspect under them.
    @Test(arguments: [0, 1]) func whatMayNotRunYetIsLeft(crashes: Int) async throws {
        let limited = JobKind<Note>("test.limited", queue: "other")
        try await JobHarness.with { harness in
            var registry = try harness.recording(kind)
            try registry.register(limited) { _, context in
                try await harness.effect(context)
                return .completed()
            }
            try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "default", to: (1, .seconds(86_400)), on: connection)
                try harness.queue.limit(kind: limited.name, running: 1, runningPerKey: nil, on: connection)
                try connection.execute(
                    """
                    with other as (
                        insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                        values ('other', '1', 1, '{}', '{}', now() + interval '1 hour')
                        returning id
                    )
                    insert into accountctl.jobs (queue, kind, args, state, worker, lease)
                    select 'other', \(limited.name), '{"text":""}', 'running', id, nextval('accountctl.job_leases')
                    from other
                    """
                )
            }
            try await harness.enqueue(try [kind.job(Note()), kind.job(Note()), limited.job(Note())])
            try await harness.execute("update accountctl.jobs set crashes = \(crashes) where state = 'available'")
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.effects() == 1)
            #expect(try await harness.unfinished() == 3)
        }
    }

    @Test func whatASchedulesTimeHasBroughtIsDone() async throws {
        try await JobHarness.with { harness in
            var registry = try harness.recording(kind)
            try registry.schedule(PeriodicJob(name: "test.idle", schedule: "* * * * *", job: kind.job(Note())))
            try await harness.execute(
                "insert into accountctl.periodic_slots (name, slot) values ('test.idle', now() - interval '1 hour')"
            )
            try await harness.worker(registry).runUntilIdle()
            // Two if a minute ended meanwhile.
            #expect(try await (1...2).contains(harness.effects()))
        }
    }
}
