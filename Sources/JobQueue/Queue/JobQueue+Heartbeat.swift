import Postgres

extension JobQueue {
    /// What a worker reports about itself when it starts.
    struct Registration: Sendable {
        let name: String
        let version: String
        let slots: Int
        let lanes: [Lane]
        let lifetime: Duration
    }

    /// Registers a worker.
    ///
    /// Returns its id and the server's time, in microseconds since 1970.
    func register(_ worker: Registration, on connection: isolated Connection) throws -> (id: Int64, serverTime: Int64) {
        try connection.one(
            """
            insert into \(tables.workers) (name, version, slots, queues, kinds, started_at, beat_at, expires_at)
            select
                \(worker.name), \(worker.version), \(worker.slots),
                \(Set(worker.lanes.map(\.queue)).sorted()), \(Set(worker.lanes.map(\.kind)).sorted()),
                started, started, started + \(worker.lifetime.seconds)::double precision * interval '1 second'
            from clock_timestamp() started
            returning id, (extract(epoch from clock_timestamp()) * 1000000)::bigint
            """,
            as: (Int64, Int64).self
        )
    }

    /// What a worker reports with each heartbeat.
    struct Beat: Sendable {
        let worker: Int64
        let lifetime: Duration
        let jobs: [JobLease]
        let isStopping: Bool
        /// The lease up to which every held job not among `jobs` is one whose claim never reached the worker; nil while
        /// that cannot be known.
        let releasesUpTo: Int64?
    }

    /// The result of a heartbeat.
    struct BeatAnswer: Sendable {
        /// The jobs whose leases still hold.
        var held: Set<JobLease>
        /// The held jobs that are to be cancelled.
        var cancelled: Set<JobLease>
        /// How many jobs were released because the worker did not know that it held them.
        var released: Int
        /// The server's time, in microseconds since 1970.
        var serverTime: Int64
        /// The newest lease given out: later claims get higher ones, whatever the server's clock does.
        var lastLease: Int64
        var restrictions: ClaimRestrictions
    }

    /// Extends the worker's lease, learns which of its job leases hold, and releases jobs that it does not know it
    /// holds.
    ///
    /// Returns nil if the worker was declared lost, or registered in another life of the database: it no longer holds
    /// anything.
    func beat(_ beat: Beat, on connection: isolated Connection) throws -> BeatAnswer? {
        let answered = try connection.first(
            """
            update \(tables.workers)
            set beat_at = clock_timestamp(),
                expires_at = clock_timestamp() + \(beat.lifetime.seconds)::double precision * interval '1 second',
                running = \(beat.jobs.count),
                stopping_at = case when \(beat.isStopping) then coalesce(stopping_at, clock_timestamp()) end
            where \(tables.isRegistration(of: beat.worker))
            returning (extract(epoch from clock_timestamp()) * 1000000)::bigint, \(tables.lastLease)
            """,
            as: (Int64, Int64).self
        )
        guard let (serverTime, lastLease) = answered else { return nil }
        let restrictions = ClaimRestrictions(
            queues: try queueSettings(on: connection),
            kinds: try kindLimits(on: connection)
        )
        let held = try connection.query(
            """
            select id, lease, worker, cancel_requested_at is not null
            from \(tables.jobs)
            where \(JobTables.isUnderItsLease(beat.jobs))
            """,
            as: (Int64, Int64, Int64, Bool).self
        )
        .map { (job: JobLease(id: $0.0, lease: $0.1, worker: $0.2), isCancelled: $0.3) }
        var released = 0
        if let last = beat.releasesUpTo {
            released = try connection.execute(
                """
                update \(tables.jobs)
                set \(tables.handedBack)
                where id = any(array(
                    select id
                    from \(tables.jobs)
                    where state = 'running'
                    and worker = \(beat.worker)
                    and not (\(JobTables.isUnderItsLease(beat.jobs)))
                    and lease <= \(last)
                    for update skip locked
                ))
                """
            )
        }
        return BeatAnswer(
            held: Set(held.map(\.job)),
            cancelled: Set(held.lazy.filter(\.isCancelled).map(\.job)),
            released: released,
            serverTime: serverTime,
            lastLease: lastLease,
            restrictions: restrictions
        )
    }

    /// Records that a worker stopped, or that it was lost.
    ///
    /// Jobs that it still holds go back without using an attempt; a job whose row is locked is left to the rescue.
    func deregister(worker: Int64, isLost: Bool = false, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update \(tables.jobs)
            set \(tables.handedBack)
            where id = any(array(
                select id
                from \(tables.jobs)
                where state = 'running'
                and worker = \(worker)
                for update skip locked
            ))
            """
        )
        try connection.execute(
            """
            update \(tables.workers)
            set stopped_at = clock_timestamp(), stop_reason = \(isLost ? "lost" : "shutdown"), running = 0
            where id = \(worker)
            and stopped_at is null
            """
        )
    }
}
