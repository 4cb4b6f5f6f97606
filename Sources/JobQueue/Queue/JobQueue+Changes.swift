package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension JobQueue {
    /// Lists what changed after an instant: jobs that ended, and those that run or wait now, oldest change first, a
    /// page of `limit` at a time.
    ///
    /// A change that leaves no time in a job's row, such as moving up in priority or becoming due, is not reported.
    ///
    /// To follow changes, ask again with the last job of each full page, until a page is not full.
    ///
    /// - Parameters:
    ///   - filter: only its queues and kinds are used.
    ///   - instant: only changes after it are listed.
    ///   - last: the last job of the previous page; the next page starts after its change.
    ///   - limit: the most jobs of a page.
    ///   - connection: where.
    /// - Returns: The jobs as they are now, not every change of each.
    /// - Throws: ``PostgresError``.
    package func changes(
        _ filter: JobFilter = JobFilter(),
        since instant: Date,
        after last: JobRecord? = nil,
        limit: Int = 1000,
        on connection: isolated Connection
    ) throws -> [JobRecord] {
        func wanted(_ moment: Statement) -> Statement {
            """
            where \(moment) > \(instant)
            and \(Self.isOfPlaces(filter))
            and (
                \(last == nil)
                or (\(moment), j.id) > (\(last?.changedAt ?? instant)::timestamptz, \(last?.id ?? 0)::bigint)
            )
            order by \(moment), j.id
            limit \(limit)
            """
        }
        let ended = try records("\(endedColumns) \(wanted("j.finished_at"))", on: connection)
        let live = try records("\(liveColumns) \(wanted(Self.liveMoment))", on: connection)
        // Each list is complete up to its own last job: what lies beyond the limit comes with the next page.
        return Array((ended + live).sorted { ($0.changedAt, $0.id) < ($1.changedAt, $1.id) }.prefix(limit))
    }
}
