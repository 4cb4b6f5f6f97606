package import Logging
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a handler knows of the job it runs, and may do with it.
///
/// A handler may be stopped at any await by cancellation. Writes to Postgres are safe against a lost lease when they
/// begin with ``fence(on:)`` in their transaction. Calls to other systems cannot be fenced: begin each with
/// ``requireLease(outlasting:)``.
package struct JobContext: Sendable {
    let running: RunningJob
    let queue: JobQueue
    let trust: @Sendable () -> ContinuousClock.Instant?
    let serverTime: @Sendable () -> Date

    /// The worker's connections.
    ///
    /// A handler that holds one must not ask for a second.
    package let pool: Pool

    /// Names job, kind and attempt on every line.
    package let logger: Logger

    /// The job's id.
    package var id: Int64 { running.job.id }

    /// The job's kind.
    var kind: String { running.job.kind }

    /// The attempt, from 1.
    ///
    /// Attempts that a shutdown or the death of a process ended are not counted.
    package var attempt: Int { Int(running.job.attempt) }

    /// How often a process died while it ran this job.
    var crashes: Int { Int(running.job.crashes) }

    /// The server's time, for instants that are stored or handed to ``JobOutcome/snooze(until:)``.
    ///
    /// The clock of this machine may be off by hours.
    package var now: Date { serverTime() }

    /// When the attempt is over.
    var deadline: ContinuousClock.Instant { running.deadline }

    /// Until when nobody else can be given the job, which each heartbeat moves on; nil when it is lost already.
    var leaseExpires: ContinuousClock.Instant? { trust().map { min($0, running.deadline) } }

    /// Whether an operator asked for the job to be cancelled; its task is cancelled then too.
    var isCancelRequested: Bool { running.stopReason == .cancelRequested }

    /// Checks that nobody else can have the job before `duration` from now, by a clock that counts suspension.
    ///
    /// Unless the worker is made to stop meanwhile: then it hands the job back moments after it has cancelled the task,
    /// and a call that does not heed that may be in its last moments when another worker begins.
    ///
    /// - Throws: ``JobQueueError`` `leaseTooShort`, which a handler lets through: the job runs again soon, its attempt
    ///   not counted; `leaseLost` when it is lost already.
    package func requireLease(outlasting duration: Duration) throws {
        guard let leaseExpires, running.stopReason != .leaseLost else {
            throw JobQueueError(.leaseLost, "the lease of job \(id) is lost")
        }
        guard ContinuousClock.now.advanced(by: duration) < leaseExpires else {
            throw JobQueueError(.leaseTooShort, "the lease of job \(id) ends before a call of \(duration) would")
        }
    }

    /// Locks the job's row for the rest of the transaction, if the lease still holds: nobody can take the job away
    /// before the transaction ends.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`; ``PostgresError``.
    package func fence(on connection: isolated Connection) throws {
        try fence.hold(on: connection)
    }

    /// What ``fence(on:)`` checks, for statements that check it themselves.
    package var fence: JobFence { JobFence(queue: queue, job: running.job.leased) }

    /// Ends the job as completed in the handler's own transaction: its effects and its end happen both or neither.
    ///
    /// Return ``JobOutcome/completedInTransaction`` after the commit, and let the error of a commit through: where nobody
    /// knows what became of it, the job runs again only if it has not ended. Let it be the transaction's last statement:
    /// those after it wait for a lock for one second at most.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, and the transaction must not commit; ``PostgresError``.
    package func complete(output: JobDocument? = nil, on connection: isolated Connection) throws {
        let job = running.job.leased
        var ending = JobQueue.Ending(outcome: .completed)
        ending.add(job, output: output)
        guard try queue.finish(ending, on: connection).contains(job) else { throw fence.lost }
    }

    /// Stores how far the job is, for people to see and for a later attempt to go on from, which reads it by
    /// ``JobQueue/show(_:on:)``.
    ///
    /// It goes to the history with the job, and comes back with one that is retried. It stays there as long as
    /// arguments and output, and like them holds ids of our own rows, never personal data.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, or naming `progress` when it is longer than 16 kB; `EncodingError`;
    ///   ``PostgresError``.
    package func setProgress(_ progress: some Encodable & Sendable) async throws {
        try await pool.withConnection { connection in try setProgress(progress, on: connection) }
    }

    /// Stores how far the job is in the handler's own transaction: with what it has done, or not at all.
    ///
    /// - Throws: As ``setProgress(_:)``; the transaction must not commit then.
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
