package import Postgres

/// Keeps out the writes of a process that a job was taken away from, and of one that wrote what a failover or a restore
/// took back.
package struct JobFence: Sendable {
    /// A query of one row, locked for the rest of the transaction, while the lease holds; of none afterwards.
    ///
    /// A statement that writes only where this query has a row needs no transaction around it.
    package let held: Statement

    /// What to throw where ``held`` has no row.
    package let lost: JobQueueError

    /// - Parameters:
    ///   - queue: The tables the job lies in.
    ///   - job: The job as it was given out; when it is given out again it has another lease.
    init(queue: JobQueue, job: JobLease) {
        held = """
            select true
            from \(queue.tables.jobs)
            where \(queue.tables.isHeld(job))
            for share
            """
        lost = JobQueueError(.leaseLost, "job \(job.id) is no longer held under lease \(job.lease)")
    }

    /// Takes the job's row for as long as the transaction lasts, if the lease still holds.
    ///
    /// Nobody can take the job away in between; a test without the lock would let a write land after the job was given
    /// to somebody else.
    ///
    /// - Throws: ``lost``; ``PostgresError``.
    package func hold(on connection: isolated Connection) throws {
        guard try connection.first(held, as: Bool.self) == true else { throw lost }
    }
}
