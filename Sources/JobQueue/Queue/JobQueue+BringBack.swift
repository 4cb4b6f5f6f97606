import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Parked jobs that go on since what they waited for has come, some thousands at a time.
extension JobQueue {
    /// The most parked jobs that one statement makes available.
    ///
    /// A million at once would take longer than a statement may, each time anew.
    static let unparkedAtOnce = 5000

    /// Makes parked jobs available again whose arguments an older release could not read.
    ///
    /// Only those that were ready before `start`, which is when the first round of them began: one that is set aside
    /// once more is not looked at again.
    ///
    /// Returns how many: with ``unparkedAtOnce`` of them there may be more.
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

    /// Makes parked jobs available again that a worker of an older release set aside for one like this.
    ///
    /// While releases overlap the older may set it aside once more; the newer has its turn as soon as it is alone. What
    /// it sets aside during the rounds that began at `start` is left to the next.
    ///
    /// Returns how many: with ``unparkedAtOnce`` of them there may be more.
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

    /// That a job did not become ready since an instant; one of the future did so by a wrong clock, or by hand.
    private func wasNotTried(since start: Date) -> Statement {
        "(j.run_at < \(start) or j.run_at > clock_timestamp())"
    }

    /// Lets jobs go on that waited for room under a limit per key which is no more; one whose row somebody has locked
    /// is left for the next round.
    ///
    /// Returns how many: with ``unparkedAtOnce`` of them there may be more.
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
            -- Decided before any job is looked at: thousands may wait for a key of a kind that is still limited.
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
