package import Postgres

extension JobQueue {
    /// The result of taking a job by hand.
    package enum Holding: Sendable {
        case held(JobHold)
        /// Its queue is paused.
        case paused(QueueSetting)
        /// A worker runs it, or somebody else holds it, with their name; nil if that is not known at the moment.
        case running(by: String?)
        /// It is parked, with the reason.
        case parked(Int64, for: String?)
        /// A cancel was requested while it ran, and then its process died: a worker will end it.
        case cancelled(Int64)
        /// No unfinished job has the key.
        case absent
    }

    /// Takes the unfinished job of a unique key to work on it by hand, in the caller's transaction.
    ///
    /// - Parameters:
    ///   - key: the unique key.
    ///   - holder: who takes the job.
    ///   - connection: the connection; in the transaction that created the job, no worker can claim it first.
    /// - Returns: The job, to be held with ``JobHold/keep(pool:logger:while:)``, or why it could not be taken.
    /// - Throws: ``PostgresError``.
    package func hold(
        _ key: String,
        as holder: JobHold.Holder,
        on connection: isolated Connection
    ) throws -> Holding {
        let found = try connection.first(
            """
            select id, queue, state = 'parked', parked_for, state <> 'running' and cancel_requested_at is not null
            from \(tables.jobs)
            where unique_key = \(key)
            """,
            as: (Int64, String, Bool, String?, Bool).self
        )
        guard let (id, name, isParked, reason, isCancelled) = found else { return .absent }
        if let pause = try pauses(of: [name], on: connection).first { return .paused(pause) }
        if isParked { return .parked(id, for: reason) }
        if isCancelled { return .cancelled(id) }
        // Does not wait for a running job: its worker may keep the row locked for as long as a step takes. A scheduled
        // job's time is moved to now, because it is available once it is handed back.
        let free = try connection.first(
            """
            update \(tables.jobs)
            set run_at = least(run_at, clock_timestamp())
            where id = \(id)
            and state in ('available', 'scheduled')
            -- Its worker may have died since, leaving the job with a cancel request.
            and cancel_requested_at is null
            returning id
            """,
            as: Int64.self
        )
        guard let free else { return .running(by: try runner(of: id, on: connection)) }
        let registration = Registration(
            name: holder.name,
            version: holder.version,
            slots: 1,
            lanes: [],
            lifetime: holder.lifetime
        )
        // Read before the server registers the holder and starts counting the lease, so the local deadline is never
        // later than the server's.
        let sentAt = ContinuousClock.now
        let worker = try register(registration, on: connection).id
        let lane = Lane(queue: "", kind: "", timeout: holder.longest)
        let row = try connection.one(take("array[\(free)]::bigint[]", [lane], worker: worker), as: ClaimRow.self)
        let job = ClaimedJob(row, of: worker).leased
        return .held(JobHold(self, name, holder, job: job, sentAt: sentAt))
    }

    /// The name of the worker that runs a job; nil if none does.
    private func runner(of job: Int64, on connection: isolated Connection) throws -> String? {
        try connection.first(
            """
            select w.name
            from \(tables.jobs) j
            join \(tables.workers) w on w.id = j.worker
            where j.id = \(job)
            and j.state = 'running'
            """,
            as: String.self
        )
    }
}
