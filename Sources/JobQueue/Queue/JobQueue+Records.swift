import Postgres

/// The columns of jobs as operators see them.
extension JobQueue {
    /// The jobs of a query that begins with ``liveColumns`` or ``endedColumns``.
    func records(_ statement: Statement, on connection: isolated Connection) throws -> [JobRecord] {
        try connection.query(statement, into: JobRecord.init)
    }

    /// A query of unfinished jobs `j`, whose conditions follow.
    var liveColumns: Statement {
        """
        select j.id, j.state::text, j.queue, j.kind, j.priority, j.attempt, j.crashes, j.created_at, j.run_at,
            j.claimed_at, null::timestamptz, j.unique_key, j.limit_key, coalesce(j.parked_for, j.cancel_reason),
            j.exhausted_at, j.worker,
            j.errors -> -1 ->> 'error', (j.errors -> -1 ->> 'at')::timestamptz, \(Self.liveMoment)
        from \(tables.jobs) j
        """
    }

    /// A query of ended jobs `j`, whose conditions follow.
    var endedColumns: Statement {
        """
        select j.id, j.outcome::text, j.queue, j.kind, j.priority, j.attempt, j.crashes, j.created_at, j.run_at,
            j.claimed_at, j.finished_at, j.unique_key, j.limit_key, j.reason, null::timestamptz, j.worker,
            j.errors -> -1 ->> 'error', (j.errors -> -1 ->> 'at')::timestamptz, j.finished_at
        from \(tables.history) j
        """
    }

    /// When an unfinished job was last enqueued, claimed, told to stop, failed, told to wait or made to run again.
    ///
    /// Never in the future, because a client that follows changes would wait for it: a manual change may have written
    /// such times.
    static let liveMoment: Statement = """
        greatest(
            j.created_at, j.claimed_at, j.cancel_requested_at,
            case
                when (j.errors -> -1 ->> 'at')::timestamptz <= statement_timestamp()
                    then (j.errors -> -1 ->> 'at')::timestamptz
            end,
            case
                -- In a job that became due this is the time for which it was scheduled.
                when j.state = 'scheduled' and j.waiting_since <= statement_timestamp() then j.waiting_since
            end,
            case
                -- Becoming due or moving up is not a change.
                when j.state = 'available' and j.run_at <= statement_timestamp() and j.aged_at is distinct from j.run_at
                    then j.run_at
            end
        )
        """
}
