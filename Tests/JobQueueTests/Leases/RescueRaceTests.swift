import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Races of a rescue with completions, heartbeats and other rescues, forced by open transactions.
@Suite(.timeLimit(.minutes(5))) struct RescueRaceTests {
    /// The fence locks the row: a rescue skips it, and all writes of the transaction land.
    @Test func aFencedTransactionIsNotRescuedUnder() async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.lateClaim()
            try await harness.pool.withTransaction { connection in
                try JobFence(queue: harness.queue, job: job.leased).hold(on: connection)
                #expect(try await harness.rescue() == 0)
                try harness.effect(job.id, "fenced", on: connection)
                let landed = try harness.queue.finish(
                    .init(outcome: .completed, jobs: [job.leased]),
                    on: connection
                )
                #expect(landed == [job.leased])
            }
            #expect(try await harness.rescue() == 0)
            #expect(try await harness.effects() == 1)
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// A rescue does not overwrite a completion that is being written, as River did.
    @Test func aCompletionUnderWayIsNotRescued() async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.lateClaim()
            try await harness.pool.withTransaction { connection in
                let landed = try harness.queue.finish(
                    .init(outcome: .completed, jobs: [job.leased]),
                    on: connection
                )
                #expect(landed == [job.leased])
                #expect(try await harness.rescue() == 0)
            }
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.unfinished() == 0)
        }
    }

    /// The job was claimed by a worker that registered after the rescue began, and that the rescue does not know of.
    @Test func aRescueLeavesWhatAnotherTookOver() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            // The rescue waits at the row of the first worker; the second deregistered while another session had its
            // job locked.
            try await harness.expire(try await harness.host())
            let gone = try await harness.host()
            let job = try await harness.claim(gone)[0]
            try await harness.execute(
                "update accountctl.workers set stopped_at = now(), stop_reason = 'shutdown' where id = \(gone)"
            )
            try await harness.execute("alter table accountctl.workers rename to workers_kept")
            try await harness.execute(
                """
                create function public.may_pass() returns boolean language plpgsql as $$
                begin
                    if current_setting('test.waits', true) = 'on' then perform pg_advisory_xact_lock_shared(77); end if;
                    return true;
                end
                $$
                """
            )
            try await harness.execute(
                "create view accountctl.workers as select * from accountctl.workers_kept where public.may_pass()"
            )
            let (rescued, newcomer) = try await harness.pool.withTransaction { other in
                try other.execute("select pg_advisory_xact_lock(77)")
                let rescued = Task {
                    try await harness.pool.withTransaction { connection in
                        try connection.execute(
                            "select set_config('test.waits', 'on', true), set_config('lock_timeout', '0', true)"
                        )
                        return try harness.queue.rescue(on: connection).jobs
                    }
                }
                try await other.waitUntilSomebodyIsBlocked()
                let released = try await harness.pool.withConnection { connection in
                    try harness.queue.release([job.leased], on: connection)
                }
                #expect(released == [job.leased])
                let newcomer = try await harness.host()
                #expect(try await harness.claim(newcomer).map(\.id) == [job.id])
                return (rescued, newcomer)
            }
            #expect(try await rescued.value == 0)
            let held: Statement =
                "select count(*) from accountctl.jobs where worker = \(newcomer) and state = 'running' and crashes = 0"
            #expect(try await harness.count(held) == 1)
        }
    }

    @Test func manyRescuersCountOneCrash() async throws {
        try await JobHarness.with(connections: 8) { harness in
            try await harness.enqueue(try (0..<50).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            #expect(try await harness.claim(worker, 50).count == 50)
            try await harness.expire(worker)
            let rescued = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await harness.rescue() } }
                return try await group.reduce(0, +)
            }
            // A job that one rescuer skipped because another had it locked is rescued by that other one, or by the next
            // round.
            #expect(rescued + (try await harness.rescue()) == 50)
            #expect(try await harness.count("select max(crashes)::int from accountctl.jobs") == 1)
        }
    }

    /// A late heartbeat that is under way when a rescue looks keeps its worker.
    @Test func aBeatInTimeKeepsItsJobs() async throws {
        try await JobHarness.with { harness in
            let (worker, job) = try await harness.lateClaim()
            try await harness.pool.withTransaction { connection in
                let answer = try harness.beat(worker, [job], on: connection)
                #expect(answer?.held == [job.leased])
                #expect(try await harness.rescue() == 0)
            }
            #expect(try await harness.rescue() == 0)
            #expect(try await harness.finish(job))
        }
    }

    /// A heartbeat that comes while a rescue is under way waits for it, and learns that all jobs are lost.
    @Test func aBeatWaitsForARescueUnderWay() async throws {
        try await JobHarness.with { harness in
            let (worker, job) = try await harness.lateClaim()
            let answer = try await harness.pool.withTransaction { rescuer in
                #expect(try harness.queue.rescue(on: rescuer).jobs == 1)
                let answer = Task {
                    try await harness.pool.withConnection { connection in
                        try harness.beat(worker, [job], on: connection)
                    }
                }
                try await rescuer.waitUntilSomebodyIsBlocked()
                return answer
            }
            #expect(try await answer.value == nil)
            #expect(try await harness.show(job.id)?.record.state == .available)
        }
    }

    /// A rescuer need not know the kind of a job: running jobs are found by their worker.
    @Test func aRescuerNeedNotKnowTheKind() async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.lateClaim()
            let registry = try JobRegistry(JobKind<Note>("test.other")) { _, _ in .completed() }
            let rescuer = try harness.worker(registry)
            try await rescuer.begin()
            rescuer.core.withLock { $0.server.answeredSince = nil }
            try await rescuer.rescueLost()
            let record = try await harness.show(job.id)?.record
            #expect(record?.state == .available)
            #expect(record?.crashes == 1)
            #expect(record?.attempt == 0)
        }
    }

    /// A heartbeat that comes after the rescue finds nothing to keep, and does not revive a lost worker.
    @Test func aBeatTooLateRevivesNothing() async throws {
        try await JobHarness.with { harness in
            let (worker, job) = try await harness.lateClaim()
            #expect(try await harness.rescue() == 1)
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [job], releasesUpTo: .max / 2, on: connection)
            }
            #expect(answer == nil)
            let lost: Statement = """
                select count(*) from accountctl.workers where stop_reason = 'lost' and expires_at < now()
                """
            #expect(try await harness.count(lost) == 1)
            #expect(try await harness.show(job.id)?.record.state == .available)
        }
    }

    /// A worker that deregisters hands back the jobs that are not locked, and waits for no lock.
    @Test func aGoodbyeLeavesALockedJobToTheRescue() async throws {
        try await JobHarness.with { harness in
            let (worker, jobs) = try await harness.claimed(2)
            try await harness.pool.withTransaction { other in
                try JobFence(queue: harness.queue, job: jobs[0].leased).hold(on: other)
                try await harness.pool.withConnection { connection in
                    try harness.queue.deregister(worker: worker, on: connection)
                }
                #expect(try await harness.show(jobs[0].id)?.record.state == .running)
                #expect(try await harness.show(jobs[1].id)?.record.state == .available)
                #expect(try await harness.rescue() == 0)
            }
            #expect(try await harness.rescue() == 1)
            #expect(try await harness.show(jobs[1].id)?.record.crashes == 0)
        }
    }
}
