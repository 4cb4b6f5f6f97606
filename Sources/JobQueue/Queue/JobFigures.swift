package import Postgres

/// The state of the queues in numbers.
package struct JobFigures: Sendable, Hashable {
    /// Unfinished jobs of one queue and state.
    package struct Depth: Sendable, Hashable {
        package let queue: String
        package let state: JobState
        package let count: Int
    }

    package let depths: [Depth]
    /// Seconds that each queue's oldest runnable job has waited.
    ///
    /// A job that is due counts as runnable, and one that was set aside for room that nobody is left to give it; those of
    /// a paused queue do not.
    package let oldestReady: [String: Double]
    /// Jobs that must not be given up and used up their usual attempts.
    package let exhausted: Int
    /// Jobs that ended in the last minute, by outcome.
    package let lastMinute: [JobState: Int]
    /// Seconds since the oldest transaction began that keeps dead rows: by a snapshot, which is no older, by what it has
    /// written, or as a prepared one.
    package let oldestSnapshot: Double
    /// Transactions since the oldest one whose dead rows anything keeps: sessions, prepared transactions, standbys and
    /// their slots, of which some tell no time.
    package let oldestXminAge: Int
    /// Dead rows of the hot table, as far as the server has counted.
    package let deadRows: Int
    /// Rows in the default partition of the history; above 0 partitions are missing.
    package let defaultRows: Int

    /// Whether dead rows are kept for longer, or through more transactions, than is usual.
    package var areDeadRowsKept: Bool {
        oldestSnapshot > Limits.oldestSnapshot || oldestXminAge > Limits.oldestXminAge
    }
}

extension JobFigures {
    /// What a figure may be before somebody has to look; the alerts in `deploy/monitoring` say the same.
    package enum Limits {
        /// Workers look about each second, and a burst or a restart takes minutes.
        package static let oldestReady = 900.0
        /// The daily dump of a database takes its time, and ends.
        package static let oldestSnapshot = 3600.0
        /// At a hundred transactions a second so many pass in three hours, each with dead rows that every scan walks
        /// over.
        package static let oldestXminAge = 1_000_000
        /// Workers vacuum each minute, within which ten thousand jobs a second leave as many.
        package static let deadRows = 1_000_000
    }
}

extension JobQueue {
    /// Counts.
    ///
    /// The cost grows with the number of unfinished jobs: at a million some tenths of a second.
    ///
    /// - Throws: ``PostgresError``.
    package func figures(on connection: isolated Connection) throws -> JobFigures {
        let depths = try connection.query(
            """
            select queue, state::text, count(*), count(exhausted_at),
                max(
                    case
                        when queue in (select q.name from \(tables.queues) q where q.paused_at is not null) then null
                        when state = 'available' then extract(epoch from clock_timestamp() - (\(Self.readySince)))
                        -- Nobody may be there to make it available.
                        when state = 'scheduled' and run_at <= clock_timestamp()
                            then extract(epoch from clock_timestamp() - (\(Self.readyAt)))
                        when \(isLeftBehind) then extract(epoch from clock_timestamp() - (\(Self.readySince)))
                    end
                )::double precision
            from \(tables.jobs)
            group by queue, state
            order by queue, state
            """,
            as: (String, JobState, Int64, Int64, Double?).self
        )
        let ended = try connection.query(
            """
            select outcome::text, count(*)
            from \(tables.history)
            where finished_at > statement_timestamp() - interval '1 minute'
            group by outcome
            """,
            as: (JobState, Int64).self
        )
        let (snapshot, xminAge, dead, stray) = try connection.one(
            """
            with kept as (\(DeadRowKeeper.all))
            select
                coalesce((select extract(epoch from clock_timestamp() - min(since)) from kept), 0)::double precision,
                coalesce((select max(age) from kept), 0),
                coalesce(pg_stat_get_dead_tuples(\("\(tables.schemaName).jobs")::regclass), 0),
                (select count(*) from (select from \(tables.schema).job_history_default limit 100000) as stray)
            """,
            as: (Double, Int32, Int64, Int64).self
        )
        var oldest: [String: Double] = [:]
        for (queue, _, _, _, age) in depths {
            if let age { oldest[queue] = max(age, oldest[queue] ?? 0) }
        }
        return JobFigures(
            depths: depths.map { JobFigures.Depth(queue: $0.0, state: $0.1, count: Int($0.2)) },
            oldestReady: oldest,
            exhausted: depths.reduce(0) { $0 + Int($1.3) },
            lastMinute: Dictionary(uniqueKeysWithValues: ended.map { ($0.0, Int($0.1)) }),
            oldestSnapshot: snapshot,
            oldestXminAge: Int(xminAge),
            deadRows: Int(dead),
            defaultRows: Int(stray)
        )
    }
}
