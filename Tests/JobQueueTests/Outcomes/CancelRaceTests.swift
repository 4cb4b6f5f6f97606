import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Races of a cancel with an outcome, claim or release of its job, forced by open transactions.
@Suite(.timeLimit(.minutes(5))) struct CancelRaceTests {
    /// The error that rolls back a transaction once the cancel waits for it.
    private struct Undone: Error {
        let cancel: Task<JobQueue.CancelResult, any Error>
    }

    /// Begins a cancel and waits until a lock of `holder` blocks it.
    private func beginCancel(
        _ id: Int64,
        _ harness: JobHarness,
        behind holder: isolated Connection
    ) async throws -> Task<JobQueue.CancelResult, any Error> {
        let cancel = Task {
            // Not a connection of the workers' pool, whose sessions wait for a lock for a second at most.
            try await harness.database.withConnection { connection in
                try harness.queue.cancel(id, reason: "x", on: connection)
            }
        }
        try await holder.waitUntilSomebodyIsBlocked()
        return cancel
    }

    /// A cancel that waits for a completion reports what became of the job, whether the transaction commits or rolls
    /// back.
    @Test(arguments: [true, false]) func aCancelWaitsForACompletionUnderWay(_ isCommitted: Bool) async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.claimed()
            let cancel: Task<JobQueue.CancelResult, any Error>
            do {
                cancel = try await harness.pool.withTransaction { connection in
                    #expect(try harness.finish(job, on: connection))
                    let cancel = try await beginCancel(job.id, harness, behind: connection)
                    guard isCommitted else { throw Undone(cancel: cancel) }
                    return cancel
                }
            } catch let undone as Undone {
                cancel = undone.cancel
            }
            #expect(try await cancel.value == (isCommitted ? .finished : .requested))
            // Writes the end again, as a worker does that got no reply.
            #expect(try await harness.finish(job) == !isCommitted)
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.finished("cancelled") == 0)
            #expect(try await harness.unfinished() == 0)
        }
    }

    /// An end that waits for the cancel's lock lands unchanged; an outcome that would run the job again ends it as
    /// cancelled.
    @Test(arguments: [true, false]) func anOutcomeWaitsForACancelUnderWay(_ isDone: Bool) async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.claimed()
            let verdict: Verdict = isDone ? .end(.completed) : .giveBack(.init())
            let written = try await harness.pool.withTransaction { canceller in
                #expect(try harness.queue.cancel(job.id, reason: "x", on: canceller) == .requested)
                let written = Task { () async throws -> Settlement.Written in
                    while true {
                        let progress = ExchangeProgress()
                        try await harness.pool.withConnection { connection in
                            let settlement = Settlement(queue: harness.queue)
                            try settlement.write([FinishedJob(job: job, verdict: verdict)], progress, on: connection)
                        }
                        // The write waits for a second at most and is repeated, as a worker does.
                        if progress.written.locked.isEmpty { return progress.written }
                    }
                }
                try await canceller.waitUntilSomebodyIsBlocked()
                return written
            }
            #expect(try await written.value.landed == [job.leased])
            #expect(try await harness.finished("completed") == (isDone ? 1 : 0))
            let cancelled = "select count(*) from accountctl.job_history where outcome = 'cancelled' and reason = 'x'"
            #expect(try await harness.count(Statement(unsafeSQL: cancelled)) == (isDone ? 0 : 1))
            #expect(try await harness.unfinished() == 0)
            // Asks again, as a worker does that got no reply: the table shows how the job ended.
            let progress = ExchangeProgress()
            let doubtful = FinishedJob(job: job, verdict: verdict, isInDoubt: true)
            let open = try await harness.pool.withConnection { connection in
                try Settlement(queue: harness.queue).unwritten(of: [doubtful], progress, on: connection)
            }
            #expect(open.isEmpty)
            let end: JobQueue.Ending.Outcome = isDone ? .completed : .cancelled
            #expect(progress.written.ended == [job.leased: end])
        }
    }

    /// The cancel found the job waiting, but it runs by the time the cancel has its row lock: the worker is asked to
    /// stop the job.
    @Test func aCancelWaitsForAClaimUnderWay() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([JobHarness.plain.job(Note())])[0].id
            let worker = try await harness.host()
            let (job, cancel) = try await harness.pool.withTransaction { connection in
                let request = JobQueue.ClaimRequest(worker: worker, limit: 1)
                let job = try #require(try harness.queue.claim(JobHarness.plainLanes, request, on: connection).first)
                return (job, try await beginCancel(id, harness, behind: connection))
            }
            #expect(try await cancel.value == .requested)
            #expect(try await harness.finished("cancelled") == 0)
            let told = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [job], on: connection)?.cancelled
            }
            #expect(told == [job.leased])
        }
    }

    /// The job ran when the cancel first looked, and waits when the cancel has its row lock.
    @Test func aCancelWaitsForAReleaseUnderWay() async throws {
        try await JobHarness.with { harness in
            let (_, job) = try await harness.claimed()
            let cancel = try await harness.pool.withTransaction { connection in
                #expect(try harness.queue.release([job.leased], on: connection) == [job.leased])
                return try await beginCancel(job.id, harness, behind: connection)
            }
            #expect(try await cancel.value == .cancelled)
            #expect(try await harness.finished("cancelled") == 1)
            #expect(try await harness.unfinished() == 0)
        }
    }
}
