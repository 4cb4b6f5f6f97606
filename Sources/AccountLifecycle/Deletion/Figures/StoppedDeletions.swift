package import Postgres

/// Deletions that an operator stopped, and those that wait for the hourly ceiling.
package struct StoppedDeletions: Sendable, Hashable {
    /// The pause of every deletion.
    package struct General: Sendable, Hashable {
        /// How long it has lasted.
        package let length: Duration
        /// The operator who paused everything.
        package let by: String
        /// The operator's reason.
        package let reason: String?

        /// Whether a worker paused everything, since the database looks like a clone or a restored backup.
        package var isOfWorker: Bool { by == DatabaseUse.workerName }
    }

    /// The pause of every deletion; nil if there is none.
    package let general: General?
    /// How many requests are paused individually.
    package let paused: Int
    /// How long the first of the paused requests has been paused; nil if there is none.
    package let longest: Duration?
    /// How many requests wait for the hourly ceiling.
    package let overCeiling: Int

    /// Reads the pauses and the requests that wait.
    package static func read(on connection: isolated Connection) throws -> StoppedDeletions {
        let (length, by, reason, paused, longest, overCeiling) = try connection.one(
            """
            select
                extract(epoch from now() - max(b.paused_at))::bigint, max(b.paused_by), max(b.paused_reason),
                count(r.paused_at), extract(epoch from now() - min(r.paused_at))::bigint,
                count(*) filter (
                    where r.state = 'held' and r.situation ->> 'code' = \(Situation.Code.ceiling.rawValue)
                )
            from accountctl.deletion_brakes as b
            left join accountctl.deletion_requests as r on r.finished_at is null
            """,
            as: (Int64?, String?, String?, Int, Int64?, Int).self
        )
        var general: General?
        if let length, let by { general = General(length: .seconds(length), by: by, reason: reason) }
        return StoppedDeletions(
            general: general,
            paused: paused,
            longest: longest.map { .seconds($0) },
            overCeiling: overCeiling
        )
    }
}
