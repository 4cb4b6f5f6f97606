import MailRelay
package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The history of checks, and the settled verdicts of each stream.
package enum MailCheckStore {
    /// How long checks are kept.
    static let keepsDays = 90

    /// Stores a check and the resulting state of its stream, and returns whether it settled a new verdict.
    ///
    /// The stream's row is locked, so that two concurrent checks of one stream do not both count as the first of two.
    /// The time is the database's, by which the next check is scheduled, unless another is given. Returns nil, and
    /// stores nothing, if the stream has been removed or declared anew: the check does not apply to the current
    /// declaration.
    static func record(
        _ report: StreamReport,
        streamID: Int64,
        at time: Date? = nil,
        took: Duration,
        jitter: Double,
        on connection: isolated Connection
    ) async throws -> Settled? {
        try await connection.transaction { connection in
            let held = try connection.first(
                """
                select standing, coalesce(\(time), clock_timestamp())
                from accountctl.mail_streams
                where id = \(streamID)
                for update
                """,
                as: (JSON<StreamStanding>, Date).self
            )
            guard let held, try MailStreamStore.find(id: streamID, on: connection)?.stream == report.stream else {
                return nil
            }
            var standing = held.0.value
            let now = held.1
            let change = standing.observe(report.verdict, at: now)
            let next = standing.nextCheck(after: now, jitter: jitter)
            try connection.execute(
                """
                update accountctl.mail_streams
                set standing = \(JSON(standing)),
                    spf = \(standing.known?.spf.rawValue),
                    dkim = \(standing.known?.dkim.rawValue),
                    reachable = \(standing.known?.reachable.rawValue),
                    confirmed_at = \(standing.confirmedAt),
                    checked_at = \(now),
                    next_check_at = \(next)
                where id = \(streamID)
                """
            )
            try insert(report, streamID: streamID, at: now, took: took, isChange: change != nil, on: connection)
            return Settled(change: change, standing: standing, next: next)
        }
    }

    /// The effect of a stored check on its stream.
    struct Settled: Sendable, Hashable {
        /// The change that two checks now agree on, if this one settled it.
        let change: StreamStanding.Change?
        /// The stream's current state.
        let standing: StreamStanding
        /// When it is checked next.
        let next: Date
    }

    private static func insert(
        _ report: StreamReport,
        streamID: Int64,
        at now: Date,
        took: Duration,
        isChange: Bool,
        on connection: isolated Connection
    ) throws {
        let findings = report.findings.map { StoredMailCheck.StoredFinding($0) }
        let answers = report.answers.map { StoredMailCheck.StoredAnswer($0.question, $0.outcome) }
        try connection.execute(
            """
            insert into accountctl.mail_checks (
                stream_id, checked_at, took, spf, dkim, reachable, conclusion, is_change, findings, answers
            )
            values (
                \(streamID),
                \(now),
                make_interval(secs => \(took / .seconds(1))),
                \(report.verdict.spf.rawValue),
                \(report.verdict.dkim.rawValue),
                \(report.verdict.reachable.rawValue),
                \(report.conclusion.rawValue),
                \(isChange),
                \(JSON(findings)),
                \(JSON(answers))
            )
            """
        )
    }

    /// The newest checks of a stream, the newest first.
    package static func latest(
        _ count: Int,
        ofStream streamID: Int64,
        on connection: isolated Connection
    ) throws -> [StoredMailCheck] {
        try connection.query(
            """
            select checked_at, spf, dkim, reachable, conclusion, is_change, findings, answers
            from accountctl.mail_checks
            where stream_id = \(streamID)
            order by checked_at desc, id desc
            limit \(count)
            """,
            as: (
                Date, String, String, String, String, Bool, JSON<[StoredMailCheck.StoredFinding]>,
                JSON<[StoredMailCheck.StoredAnswer]>
            ).self
        )
        .map { checkedAt, spf, dkim, reachable, conclusion, isChange, findings, answers in
            StoredMailCheck(
                checkedAt: checkedAt,
                spf: spf,
                dkim: dkim,
                reachable: reachable,
                conclusion: conclusion,
                isChange: isChange,
                findings: findings.value,
                answers: answers.value
            )
        }
    }

    /// Deletes checks beyond the retention period, except the newest of each stream.
    ///
    /// The time is the database's unless another is given.
    static func prune(at time: Date? = nil, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            delete from accountctl.mail_checks as old
            where old.checked_at < coalesce(\(time), now()) - make_interval(days => \(Int32(keepsDays)))
              and exists (
                  select
                  from accountctl.mail_checks as newer
                  where newer.stream_id = old.stream_id
                    and newer.checked_at > old.checked_at
              )
            """
        )
    }
}
