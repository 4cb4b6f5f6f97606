package import Postgres

/// Keeps out the writes of a process that a job was taken away from.
package struct JobFence: Sendable {
    /// A query of one row, locked for the rest of the transaction, while the lease holds; of none afterwards.
    ///
    /// A statement that writes only where this query has a row needs no transaction around it.
    package let held: Statement

    /// What to throw where ``held`` has no row.
    package let lost: JobQueueError

    /// - Parameters:
    ///   - queue: The tables the job lies in.
    ///   - job: Its id.
    ///   - lease: The number it was given out under; a job that is given out again has another.
    package init(queue: JobQueue, job: Int64, lease: Int64) {
        held = """
            select true
            from \(queue.tables.jobs)
            where id = \(job)
            and lease = \(lease)
            and state = 'running'
            for share
            """
        lost = JobQueueError(.leaseLost, "job \(job) is no longer held under lease \(lease)")
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
