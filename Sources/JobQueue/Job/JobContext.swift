package import Logging
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a handler knows about the job it runs, and what it may do with it.
///
/// A handler may be cancelled at any await. Writes to Postgres are safe against a lost lease if they begin with
/// ``fence(on:)`` in their transaction. Calls to other systems cannot be fenced: precede each with
/// ``requireLease(outlasting:)``.
package struct JobContext: Sendable {
    let running: RunningJob
    let queue: JobQueue
    let trust: @Sendable () -> ContinuousClock.Instant?
    let serverTime: @Sendable () -> Date

    /// The worker's connection pool.
    ///
    /// A handler that holds one must not ask for a second.
    package let pool: Pool

    /// A logger whose every line has the job, kind and attempt.
    package let logger: Logger

    /// The job's id.
    package var id: Int64 { running.job.id }

    /// The attempt, from 1.
    ///
    /// Attempts that ended with a shutdown or the death of the process do not count.
    package var attempt: Int { Int(running.job.attempt) }

    /// The server's time, for instants that are stored or handed to ``JobOutcome/snooze(until:)``.
    ///
    /// This machine's clock may be off by hours.
    package var now: Date { serverTime() }

    /// When the attempt times out.
    var deadline: ContinuousClock.Instant { running.deadline }

    /// Until when nobody else can be given the job, at most the deadline; nil if the lease is already lost.
    ///
    /// Each heartbeat extends it.
    private var leaseExpires: ContinuousClock.Instant? { trust().map { min($0, running.deadline) } }

    /// Checks that nobody else can have the job before `duration` from now, by a clock that counts time spent
    /// suspended.
    ///
    /// The exception is a worker that is stopped meanwhile: it hands the job back moments after it has cancelled the
    /// task, and a call that ignores the cancellation may still be in its last moments when another worker starts.
    ///
    /// - Throws: ``JobQueueError`` `leaseTooShort`, which a handler should not catch: the job runs again soon, without
    ///   counting the attempt; `leaseLost` if the lease is already lost.
    package func requireLease(outlasting duration: Duration) throws {
        guard let leaseExpires, running.stopReason != .leaseLost else {
            throw JobQueueError(.leaseLost, "the lease of job \(id) is lost")
        }
        guard ContinuousClock.now.advanced(by: duration) < leaseExpires else {
            throw JobQueueError(.leaseTooShort, "the lease of job \(id) ends before a call of \(duration) would")
        }
    }

    /// Locks the job's row for the rest of the transaction, if the lease still holds, so that nobody can take the job
    /// before the transaction ends.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`; ``PostgresError``.
    package func fence(on connection: isolated Connection) throws {
        try fence.hold(on: connection)
    }

    /// The fence that ``fence(on:)`` checks, for statements that check it themselves.
    package var fence: JobFence { JobFence(queue: queue, job: running.job.leased) }

    /// Ends the job as completed in the handler's own transaction, so that its effects and its end commit together or
    /// not at all.
    ///
    /// Return ``JobOutcome/completedInTransaction`` after the commit, and do not catch a commit's error: if its outcome
    /// is unknown, the job runs again only if it has not ended. Make this the last statement of the transaction: later
    /// statements wait for a lock for at most one second.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, after which the transaction must not commit; ``PostgresError``.
    package func complete(output: JobDocument? = nil, on connection: isolated Connection) throws {
        let job = running.job.leased
        var ending = JobQueue.Ending(outcome: .completed)
        ending.add(job, output: output)
        guard try queue.finish(ending, on: connection).contains(job) else { throw fence.lost }
    }

    /// Stores the job's progress, for people to see and for a later attempt to continue from, which reads it with
    /// ``JobQueue/show(_:on:)``.
    ///
    /// It moves to the history with the job, and comes back with a job that is retried. It is kept as long as arguments
    /// and output, and like them contains ids of our own rows, never personal data.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, or naming `progress` if it is longer than 16 kB; `EncodingError`;
    ///   ``PostgresError``.
    package func setProgress(_ progress: some Encodable & Sendable) async throws {
        try await pool.withConnection { connection in try setProgress(progress, on: connection) }
    }

    /// Stores the job's progress in the handler's own transaction, so that it commits together with the work or not at
    /// all.
    ///
    /// - Throws: As ``setProgress(_:)``; the transaction must not commit after an error.
    package func setProgress(_ progress: some Encodable & Sendable, on connection: isolated Connection) throws {
        let document = try JobDocument(encoding: progress, field: "progress", limit: JobField.progressLimit)
        let isHeld = try connection.execute(queue.storing(document, of: running.job.leased))
        guard isHeld == 1 else { throw JobQueueError(.leaseLost, "job \(id) is no longer held") }
    }
}

extension JobQueue {
    func storing(_ progress: JobDocument, of job: JobLease) -> Statement {
        """
        update \(tables.jobs)
        set progress = \(progress.json)::jsonb
        where \(tables.isHeld(job))
        """
    }
}
