package import Postgres

/// Metrics of the queues.
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
    /// A job that is due counts as runnable, and so does one parked for room under a limit that no live worker would
    /// unpark. Jobs of a paused queue do not count.
    package let oldestReady: [String: Double]
    /// Jobs that must not be discarded and have used up their usual attempts.
    package let exhausted: Int
    /// Jobs that ended in the last minute, by outcome.
    package let lastMinute: [JobState: Int]
    /// Seconds since the start of the oldest transaction that keeps dead rows: through its snapshot, which is no older
    /// than the transaction, because it has written, or because it is prepared.
    package let oldestSnapshot: Double
    /// Age, in transactions, of the oldest one whose dead rows are kept by anything: sessions, prepared transactions,
    /// standbys and their slots, some of which report no time.
    package let oldestXminAge: Int
    /// Dead rows of the hot table, as counted by the server's statistics.
    package let deadRows: Int
    /// Rows in the default partition of the history; if above 0, partitions are missing.
    package let defaultRows: Int

    /// Whether dead rows are kept for longer, or across more transactions, than is usual.
    package var areDeadRowsKept: Bool {
        oldestSnapshot > Limits.oldestSnapshot || oldestXminAge > Limits.oldestXminAge
    }
}

extension JobFigures {
    /// The values above which an operator has to look; the alerts in `deploy/monitoring` use the same.
    package enum Limits {
        /// Workers poll about once a second, but a burst or a restart takes minutes.
        package static let oldestReady = 900.0
        /// A daily dump of a database takes a while, but ends.
        package static let oldestSnapshot = 3600.0
        /// At a hundred transactions a second this takes three hours, and each leaves dead rows that every scan has to
        /// skip.
        package static let oldestXminAge = 1_000_000
        /// Workers vacuum every minute, in which ten thousand jobs a second leave about this many.
        package static let deadRows = 1_000_000
    }
}

extension JobQueue {
    /// Reads the metrics from the tables.
    ///
    /// The cost grows with the number of unfinished jobs: some tenths of a second for a million.
    ///
    /// - Throws: ``PostgresError``.
    package func figures(on connection: isolated Connection) throws -> JobFigures {
        try figures(try depths(on: connection), on: connection)
    }

    /// A queue, a state, how many jobs are in both, how many of them are exhausted, and how many seconds the oldest has
    /// been able to run.
    typealias DepthRow = (String, JobState, Int64, Int64, Double?)

    /// Counts the unfinished jobs.
    func depths(on connection: isolated Connection) throws -> [DepthRow] {
        try connection.query(
            """
            select counted.queue, counted.state::text, counted.count, counted.exhausted,
                case
                    when counted.queue not in (select q.name from \(tables.queues) q where q.paused_at is not null)
                        then extract(epoch from clock_timestamp() - counted.oldest)::double precision
                end
            from (
                -- The oldest time and not the longest wait: to work out a million waits takes three times as long.
                select queue, state, count(*) as count, count(exhausted_at) as exhausted,
                    min(
                        case
                            when state = 'available' then \(Self.readySince)
                            -- There may be no worker to make it available.
                            when state = 'scheduled' and run_at <= statement_timestamp() then \(Self.readyAt)
                            when \(isLeftBehind) then \(Self.readySince)
                        end
                    ) as oldest
                from \(tables.jobs)
                group by queue, state
            ) as counted
            order by queue, state
            """,
            as: DepthRow.self
        )
    }

    /// Reads the other metrics.
    func figures(_ depths: [DepthRow], on connection: isolated Connection) throws -> JobFigures {
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
            with kept as (select * from (\(DeadRowKeeper.all)) as k where k.is_here)
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
