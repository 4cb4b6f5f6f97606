import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JobQueue {
    /// Whether there are running jobs whose workers have ended or whose leases have expired.
    func hasUnattended(on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from \(tables.jobs) j
                where j.state = 'running'
                and not exists (
                    select
                    from \(tables.workers) w
                    where w.id = j.worker
                    and w.stopped_at is null
                    and w.expires_at >= clock_timestamp()
                )
            )
            """,
            as: Bool.self
        )
    }

    /// Lets the leases of workers whose last heartbeat is in the future begin now: the clock was set back since.
    ///
    /// Otherwise a worker that died would keep its jobs until the clock has caught up. One that is alive loses nothing,
    /// since its lease lasts as long as after a heartbeat.
    func renewBeatsAhead(on connection: isolated Connection) throws {
        try connection.execute(
            """
            update \(tables.workers)
            set beat_at = clock.now,
                expires_at = clock.now + (expires_at - beat_at)
            from (select clock_timestamp() as now offset 0) as clock
            where id = any(array(
                select id
                from \(tables.workers)
                where stopped_at is null
                and beat_at > clock_timestamp()
                for update skip locked
            ))
            """
        )
    }

    /// Makes the jobs of lost workers available, those whose heartbeats have stopped.
    ///
    /// The attempt is given back and a crash is counted: the job may have ended the process, or may only have run
    /// beside the one that did. Returns how many jobs and how many workers.
    ///
    /// Safe to run anywhere at any time. A concurrent heartbeat keeps its worker, because the row is checked again
    /// after it is locked, and a job whose row is being written under its lease is left for the next round. A job that
    /// another worker claimed since the statement began stays with that worker: the lost workers are determined before
    /// any row is locked, and a worker that registered later is not among them.
    ///
    /// `time` is the server's time as far as the caller knows. The clock may have been set since: a worker is lost only
    /// once both say so.
    func rescue(by time: Date, on connection: isolated Connection) throws -> (jobs: Int, workers: Int) {
        let (jobs, workers) = try connection.one(
            """
            with recursive lost as materialized (
                select id
                from \(tables.workers)
                where stopped_at is null
                and expires_at < least(clock_timestamp(), \(time)::timestamptz)
                order by id
                for update skip locked
            ),
            -- Steps from worker to worker in the index, however many jobs each has; behind an old snapshot, the dead
            -- entries of everything that ran since lie in between.
            holders (worker) as (
                (
                    select j.worker
                    from \(tables.jobs) j
                    where j.state = 'running'
                    order by j.worker
                    limit 1
                )
                union all
                select next.worker
                from holders,
                lateral (
                    select j.worker
                    from \(tables.jobs) j
                    where j.state = 'running'
                    and j.worker > holders.worker
                    order by j.worker
                    limit 1
                ) as next
            ),
            gone as materialized (
                select id as worker
                from lost
                union all
                select worker
                from holders
                where not exists (
                    select from \(tables.workers) w where w.id = holders.worker and w.stopped_at is null
                )
            ),
            abandoned as materialized (
                select j.id
                from \(tables.jobs) j
                where j.state = 'running'
                and j.worker = any(array(select worker from gone))
                for update skip locked
            ),
            -- Rows that a manual change may have left so.
            unheld as materialized (
                select j.id
                from \(tables.jobs) j
                where j.state = 'running'
                and j.worker is null
                for update skip locked
            ),
            rescued as (
                update \(tables.jobs)
                set \(tables.handedBack),
                    run_at = clock_timestamp(),
                    crashes = least(32000, crashes + 1),
                    errors = \(Self.appended(
                        "jsonb_build_object('attempt', attempt, 'error', 'its process died or was cut off')"
                    ))
                where id = any(array(select id from abandoned union all select id from unheld))
                returning id
            ),
            ended as (
                update \(tables.workers)
                set stopped_at = clock_timestamp(), stop_reason = 'lost', running = 0
                where id = any(array(select id from lost))
                returning id
            )
            select (select count(*)::int from rescued), (select count(*)::int from ended)
            """,
            as: (Int32, Int32).self
        )
        return (Int(jobs), Int(workers))
    }
}
