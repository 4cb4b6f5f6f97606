package import Postgres

/// Rejects the writes of a process that has lost its job, or whose writes a failover or a restore has rolled back.
package struct JobFence: Sendable {
    /// A query that returns one row, locked for the rest of the transaction, while the lease holds, and no row
    /// afterwards.
    ///
    /// A single statement that writes only if this query returns a row needs no explicit transaction.
    package let held: Statement

    /// The error to throw when ``held`` returns no row.
    package let lost: JobQueueError

    /// - Parameters:
    ///   - queue: The queue whose tables hold the job.
    ///   - job: The job under the lease with which it was claimed; claiming it again gives it another lease.
    init(queue: JobQueue, job: JobLease) {
        held = """
            select true
            from \(queue.tables.jobs)
            where \(queue.tables.isHeld(job))
            for share
            """
        lost = JobQueueError(.leaseLost, "job \(job.id) is no longer held under lease \(job.lease)")
    }

    /// Locks the job's row until the end of the transaction, if the lease still holds.
    ///
    /// Nobody can take the job meanwhile. A check without the lock would let a write land after the job was given to
    /// another worker.
    ///
    /// - Throws: ``lost``; ``PostgresError``.
    package func hold(on connection: isolated Connection) throws {
        guard try connection.first(held, as: Bool.self) == true else { throw lost }
    }
}
