import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension JobQueue {
    /// Whether jobs run whose workers have ended, or whose leases are over.
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

    /// Takes the jobs of workers whose heartbeat ceased.
    ///
    /// The attempt is given back and a crash counted: the job may be what ended the process, or may only have been
    /// beside it. Returns how many jobs and how many workers.
    ///
    /// Safe to run anywhere at any time: a heartbeat that comes meanwhile keeps its worker (the row is tested again
    /// after it is locked), and a job whose row somebody writes under its lease is left for the next round. A job that
    /// another worker took over since the statement began stays with that worker: whose jobs are taken is decided
    /// before a row is locked, and a worker that registered later is not among those.
    ///
    /// `time` is what the server's clock says as far as the caller knows. It may have been set since: nobody is lost before
    /// both say so.
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
            -- From one to the next in the index, however many jobs each of them has; behind an old snapshot all that ran
            -- since is in between.
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
            -- As a hand may have written it.
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
