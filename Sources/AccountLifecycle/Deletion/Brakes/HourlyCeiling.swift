import JobQueue
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The limit on how many accounts may be locked out within an hour, and the order in which waiting requests pass.
///
/// A request that does not pass waits without doing anything else: ``DeletionUpkeep`` wakes the next ones, the nearest
/// legal deadline first, when there is room. Requests look again by themselves, too, but rarely, since there may be a
/// hundred thousand of them.
struct HourlyCeiling: Sendable {
    /// The configured ceiling; nil for the larger of 50 and 1 % of all accounts.
    let configured: Int?

    /// How long a waiting request sleeps if nobody wakes it.
    private static let lookAgainAfter = Duration.seconds(3600)

    /// Stops a request that has not passed the ceiling, before anything is done for it: the ceiling is reached, or as
    /// many requests as it leaves room for wait ahead of this one.
    func stop(_ request: UUID, on connection: isolated Connection) throws -> StepResult? {
        let (room, ceiling) = try room(on: connection)
        let ahead = try connection.one(
            """
            select count(*)
            from (
                select
                from accountctl.deletion_requests as r, accountctl.deletion_requests as mine
                where mine.id = \(request)
                  and \(Self.isWaiting)
                  and (r.legal_deadline, r.id) < (mine.legal_deadline, mine.id)
                limit \(room)
            ) as ahead
            """,
            as: Int.self
        )
        return ahead < room ? nil : Self.stopped(by: ceiling)
    }

    /// Checks the ceiling at the last moment, under its lock: without the lock, two requests could pass where there is
    /// room for one.
    func lastStop(on connection: isolated Connection) throws -> StepResult? {
        let (room, ceiling) = try room(on: connection)
        return room > 0 ? nil : Self.stopped(by: ceiling)
    }

    /// Makes the jobs of waiting requests runnable, as many as there is room for.
    ///
    /// - Returns: How many.
    func callNext(on connection: isolated Connection) throws -> Int {
        let (room, _) = try room(on: connection)
        guard room > 0 else { return 0 }
        let next = try connection.query(
            """
            select r.id
            from accountctl.deletion_requests as r
            where \(Self.isWaiting)
            order by r.legal_deadline, r.id
            limit \(room)
            """,
            as: UUID.self
        )
        return try JobQueue().runNow(keys: next.map { DeletionJobs.key(of: $0) }, on: connection)
    }

    /// How many more requests may pass now, and the ceiling.
    private func room(on connection: isolated Connection) throws -> (room: Int, ceiling: Int) {
        let ceiling = try configured ?? defaultCeiling(on: connection)
        let passed = try connection.one(
            """
            select count(*)
            from (
                select
                from accountctl.deletion_requests
                where counted_at > statement_timestamp() - interval '1 hour'
                  -- Later ones are from before the clock was set back, and would keep the room for as long.
                  and counted_at < statement_timestamp() + interval '1 hour'
                limit \(ceiling)
            ) as passed
            """,
            as: Int.self
        )
        return (ceiling - passed, ceiling)
    }

    /// The ceiling by the server's estimate of the number of accounts.
    private func defaultCeiling(on connection: isolated Connection) throws -> Int {
        let accounts = try connection.one(
            "select greatest(reltuples, 0)::bigint from pg_catalog.pg_class where oid = 'auth.users'::regclass",
            as: Int64.self
        )
        return max(50, Int(accounts / 100))
    }

    private static let isWaiting: Statement = """
        r.finished_at is null and r.state = 'held' and r.situation ->> 'code' = \(Situation.Code.ceiling.rawValue)
        """

    private static func stopped(by ceiling: Int) -> StepResult {
        .stopped(.held, Situation(.ceiling, detail: "\(ceiling) an hour"), lookAgainAfter: lookAgainAfter)
    }
}
