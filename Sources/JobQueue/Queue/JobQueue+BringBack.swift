import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Unparking of jobs that no longer have a reason to wait, some thousands at a time.
extension JobQueue {
    /// The most parked jobs that one statement makes available.
    ///
    /// A million at once would exceed the statement timeout, on every attempt.
    static let unparkedAtOnce = 5000

    /// Makes parked jobs available again whose arguments an older release could not decode.
    ///
    /// Takes only jobs that were ready before `start`, when the first round of these updates began: a job parked once
    /// more is not taken again.
    ///
    /// Returns how many. If that is ``unparkedAtOnce``, there may be more.
    func retryUndecodable(_ lanes: [Lane], since start: Date, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            update \(tables.jobs)
            set state = 'available', parked_for = null, run_at = clock_timestamp()
            where id = any(array(
                select j.id
                from \(tables.jobs) j
                where j.state = 'parked'
                and j.parked_for = 'undecodable'
                and j.kind = any(\(lanes.map(\.kind))::text[])
                and \(wasNotTried(since: start))
                limit \(Self.unparkedAtOnce)
                for update skip locked
            ))
            """
        )
    }

    /// Makes jobs available again that a worker of an older release parked for a newer release.
    ///
    /// While both releases run, the older one may park a job again; the newer one gets it once the older workers are
    /// gone. Jobs parked again during the rounds that began at `start` are left to the next.
    ///
    /// Returns how many. If that is ``unparkedAtOnce``, there may be more.
    func retryNewer(_ lanes: [Lane], since start: Date, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            update \(tables.jobs)
            set state = 'available', parked_for = null, run_at = clock_timestamp()
            where id = any(array(
                select j.id
                from unnest(\(lanes.map(\.kind))::text[], \(lanes.map(\.version))::smallint[]) as lane(kind, version)
                join \(tables.jobs) j on j.kind = lane.kind and j.args_version <= lane.version
                where j.state = 'parked'
                and j.parked_for = 'newer'
                and \(wasNotTried(since: start))
                limit \(Self.unparkedAtOnce)
                for update of j skip locked
            ))
            """
        )
    }

    /// The condition that a job did not become ready since an instant.
    ///
    /// A `run_at` in the future comes from a wrong clock or a manual change, and counts as not tried.
    private func wasNotTried(since start: Date) -> Statement {
        "(j.run_at < \(start) or j.run_at > clock_timestamp())"
    }

    /// Unparks jobs that waited under a limit per key which no longer exists; a job whose row is locked is left for the
    /// next round.
    ///
    /// Returns how many. If that is ``unparkedAtOnce``, there may be more.
    func unparkUnlimited(_ lanes: [Lane], on connection: isolated Connection) throws -> Int {
        try connection.execute(unparking(lanes))
    }

    func unparking(_ lanes: [Lane]) -> Statement {
        """
        update \(tables.jobs)
        set state = 'available', parked_for = null
        where id = any(array(
            select id
            from \(tables.jobs)
            where state = 'parked'
            and parked_for = 'limit'
            -- Evaluated before any job is read: thousands may wait for a key of a kind that is still limited.
            and kind = any(array(
                select lane.kind
                from unnest(\(Set(lanes.map(\.kind)).sorted())::text[]) as lane(kind)
                where not exists (
                    select
                    from \(tables.limits) l
                    where l.kind = lane.kind
                    and \(Self.runningPerKey) is not null
                )
            ))
            and limit_key is not null
            limit \(Self.unparkedAtOnce)
            for update skip locked
        ))
        """
    }
}
