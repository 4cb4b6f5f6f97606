import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// A cancel meets what becomes of its job at the same moment, forced by open transactions.
@Suite(.timeLimit(.minutes(5))) struct CancelRaceTests {
    static let kind = JobKind<Note>("test.plain")
    static let lanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]

    /// What a transaction is undone by, once the cancel waits for it.
    private struct Undone: Error {
        let cancel: Task<JobQueue.CancelResult, any Error>
    }

    private func host(_ harness: JobHarness) async throws -> Int64 {
        try await harness.pool.withConnection { try harness.queue.addWorker(Self.lanes, on: $0) }
    }

    private func claim(_ harness: JobHarness, _ worker: Int64) async throws -> ClaimedJob? {
        try await harness.pool.withConnection { connection in
            try harness.queue.claim(Self.lanes, .init(worker: worker, limit: 1), on: connection)
        }.first
    }

    private func finish(_ harness: JobHarness, _ job: ClaimedJob) async throws -> Bool {
        try await harness.pool.withConnection { connection in try finish(harness, job, on: connection) }
    }

    private func finish(_ harness: JobHarness, _ job: ClaimedJob, on connection: isolated Connection) throws -> Bool {
        try harness.queue.finish(.init(outcome: .completed, jobs: [job.leased]), on: connection) == [job.leased]
    }

    /// Begins a cancel that waits for a lock of `holder`.
    private func beginCancel(
        _ id: Int64,
        _ harness: JobHarness,
        behind holder: isolated Connection
    ) async throws -> Task<JobQueue.CancelResult, any Error> {
        let cancel = Task {
            // Not of the workers' pool, whose sessions wait for a second at most.
            try await harness.database.withConnection { connection in
                try harness.queue.cancel(id, reason: "x", on: connection)
            }
        }
        try await holder.waitUntilSomebodyIsBlocked()
        return cancel
    }

    /// It tells what became of the job, whichever way the transaction goes that ends it.
    @Test(arguments: [true, false]) func aCancelWaitsForACompletionUnderWay(_ isCommitted: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try #require(try await claim(harness, worker))
            let cancel: Task<JobQueue.CancelResult, any Error>
            do {
                cancel = try await harness.pool.withTransaction { connection in
                    #expect(try finish(harness, job, on: connection))
                    let cancel = try await beginCancel(job.id, harness, behind: connection)
                    guard isCommitted else { throw Undone(cancel: cancel) }
                    return cancel
                }
            } catch let undone as Undone {
                cancel = undone.cancel
            }
            #expect(try await cancel.value == (isCommitted ? .finished : .requested))
            // Written again, as by a worker that got no answer.
            #expect(try await finish(harness, job) == !isCommitted)
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.finished("cancelled") == 0)
            #expect(try await harness.unfinished() == 0)
        }
    }

    /// An end that waits for the cancel's lock lands as what it is; one that would have the job run again does not.
    @Test(arguments: [true, false]) func anOutcomeWaitsForACancelUnderWay(_ isDone: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try #require(try await claim(harness, worker))
            let verdict: Verdict = isDone ? .end(.completed) : .giveBack(wait: nil, givesAttemptBack: false)
            let written = try await harness.pool.withTransaction { canceller in
                #expect(try harness.queue.cancel(job.id, reason: "x", on: canceller) == .requested)
                let written = Task { () async throws -> Settlement.Written in
                    while true {
                        let progress = ExchangeProgress()
                        try await harness.pool.withConnection { connection in
                            let settlement = Settlement(queue: harness.queue)
                            try settlement.write([FinishedJob(job: job, verdict: verdict)], progress, on: connection)
                        }
                        // It waits for a second at most, as a worker does that comes back to it.
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
        }
    }

    /// What it took for waiting runs by the time it has the row: then the worker is told.
    @Test func aCancelWaitsForAClaimUnderWay() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([Self.kind.job(Note())])[0].id
            let worker = try await host(harness)
            let (job, cancel) = try await harness.pool.withTransaction { connection in
                let request = JobQueue.ClaimRequest(worker: worker, limit: 1)
                let job = try #require(try harness.queue.claim(Self.lanes, request, on: connection).first)
                return (job, try await beginCancel(id, harness, behind: connection))
            }
            #expect(try await cancel.value == .requested)
            #expect(try await harness.finished("cancelled") == 0)
            let told = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [job], on: connection).cancelled
            }
            #expect(told == [job.leased])
        }
    }

    /// It ran when the cancel first looked, and waits when the cancel has its row.
    @Test func aCancelWaitsForAReleaseUnderWay() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try #require(try await claim(harness, worker))
            let cancel = try await harness.pool.withTransaction { connection in
                #expect(try harness.queue.release([job.leased], on: connection) == 1)
                return try await beginCancel(job.id, harness, behind: connection)
            }
            #expect(try await cancel.value == .cancelled)
            #expect(try await harness.finished("cancelled") == 1)
            #expect(try await harness.unfinished() == 0)
        }
    }
}
