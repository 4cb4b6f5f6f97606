package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension JobQueue {
    /// Lists jobs: unfinished ones in the order in which they will run, then finished ones, newest first.
    ///
    /// - Parameters:
    ///   - filter: the jobs to list.
    ///   - isOneMoreListed: whether to return one job beyond the filter's limit if there is one, to show that there are
    ///     more.
    ///   - connection: where.
    /// - Returns: The jobs.
    /// - Throws: ``JobQueueError`` for an invalid filter; ``PostgresError``.
    package func list(
        _ filter: JobFilter,
        withOneMore isOneMoreListed: Bool = false,
        on connection: isolated Connection
    ) throws -> [JobRecord] {
        try filter.check()
        let limit = filter.limit + (isOneMoreListed ? 1 : 0)
        let common: Statement = """
            \(Self.isOfPlaces(filter))
            and (\(filter.uniqueKey)::text is null or j.unique_key = \(filter.uniqueKey))
            """
        let live = filter.states.filter { !$0.isEnded }.map(\.rawValue)
        let ended = filter.states.filter(\.isEnded).map(\.rawValue)
        var jobs: [JobRecord] = []
        if ended.isEmpty || !live.isEmpty {
            jobs = try records(
                """
                \(liveColumns)
                where (
                    cardinality(\(live)::text[]) = 0
                    or j.state = any(\(live)::text[]::\(tables.schema).job_state[])
                )
                and (not \(filter.isExhausted) or j.exhausted_at is not null)
                and \(common)
                order by case j.state when 'running' then 0 when 'available' then 1 when 'scheduled' then 2 else 3 end,
                    -- The priority of a scheduled job counts only once its time has come.
                    case j.state when 'scheduled' then j.run_at end, j.priority, j.run_at, j.id
                limit \(limit)
                """,
                on: connection
            )
        }
        let rest = limit - jobs.count
        guard !ended.isEmpty, rest > 0 else { return jobs }
        var finished: [JobRecord] = []
        // The newest first, and no index has that order. Usually those of one day are enough, and the others need not
        // be read.
        for span in [Self.isOfLastDay, "true"] where finished.count < rest {
            finished = try records(
                """
                \(endedColumns)
                where outcome = any(\(ended)::text[]::\(tables.schema).job_end[])
                and \(span)
                and \(common)
                order by j.finished_at desc
                limit \(rest)
                """,
                on: connection
            )
        }
        return jobs + finished
    }

    private static let isOfLastDay: Statement = "j.finished_at > statement_timestamp() - interval '1 day'"

    /// The condition that the jobs `j` are of the filter's queues and kinds.
    private static func isOfPlaces(_ filter: JobFilter) -> Statement {
        """
        (cardinality(\(filter.queues)::text[]) = 0 or j.queue = any(\(filter.queues)::text[]))
        and (cardinality(\(filter.kinds)::text[]) = 0 or j.kind = any(\(filter.kinds)::text[]))
        """
    }

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

    /// The queues and kinds of those of the given jobs that have not completed.
    ///
    /// - Throws: ``PostgresError``.
    package func kinds(
        of ids: [Int64],
        on connection: isolated Connection
    ) throws -> [(queue: String, kind: String)] {
        try connection.query(
            """
            select queue, kind
            from \(tables.jobs)
            where id = any(\(ids))
            union
            select queue, kind
            from \(tables.history)
            where id = any(\(ids))
            and outcome <> 'completed'
            order by queue, kind
            """,
            as: (String, String).self
        )
        .map { (queue: $0.0, kind: $0.1) }
    }

    /// Everything about one job; nil if no job has the id, or its retention is over.
    ///
    /// - Throws: ``PostgresError``.
    package func show(_ id: Int64, on connection: isolated Connection) throws -> JobDetails? {
        if let record = try records("\(liveColumns) where j.id = \(id)", on: connection).first {
            let row = try connection.first(
                """
                select args::text, args_version, progress::text, null::text, errors::text,
                    cancel_requested_at is not null, max_attempts
                from \(tables.jobs)
                where id = \(id)
                """,
                as: (String, Int16, String?, String?, String?, Bool, Int16?).self
            )
            if let row { return JobDetails(record: record, row: row) }
        }
        guard
            let record = try records(
                "\(endedColumns) where j.id = \(id) order by j.finished_at desc limit 1",
                on: connection
            ).first,
            let row = try connection.first(
                """
                select args::text, args_version, progress::text, output::text, errors::text, false,
                    max_attempts
                from \(tables.history)
                where id = \(id)
                order by finished_at desc
                limit 1
                """,
                as: (String, Int16, String?, String?, String?, Bool, Int16?).self
            )
        else { return nil }
        return JobDetails(record: record, row: row)
    }

    /// When an unfinished job was last enqueued, claimed, told to stop, failed, told to wait or made to run again.
    ///
    /// Never in the future, because a client that follows changes would wait for it: a manual change may have written
    /// such times.
    private static let liveMoment: Statement = """
        greatest(
            j.created_at, j.claimed_at, j.cancel_requested_at,
            case
                when (j.errors -> -1 ->> 'at')::timestamptz <= statement_timestamp()
                    then (j.errors -> -1 ->> 'at')::timestamptz
            end,
            case
                -- In a job that became due this is the time for which it was scheduled.
                when j.state = 'scheduled' and j.waiting_since <= statement_timestamp() then j.waiting_since
            end,
            case
                -- Becoming due or moving up is not a change.
                when j.state = 'available' and j.run_at <= statement_timestamp() and j.aged_at is distinct from j.run_at
                    then j.run_at
            end
        )
        """

    var liveColumns: Statement {
        """
        select j.id, j.state::text, j.queue, j.kind, j.priority, j.attempt, j.crashes, j.created_at, j.run_at,
            j.claimed_at, null::timestamptz, j.unique_key, j.limit_key, coalesce(j.parked_for, j.cancel_reason),
            j.exhausted_at, j.worker,
            j.errors -> -1 ->> 'error', (j.errors -> -1 ->> 'at')::timestamptz, \(Self.liveMoment)
        from \(tables.jobs) j
        """
    }

    private var endedColumns: Statement {
        """
        select j.id, j.outcome::text, j.queue, j.kind, j.priority, j.attempt, j.crashes, j.created_at, j.run_at,
            j.claimed_at, j.finished_at, j.unique_key, j.limit_key, j.reason, null::timestamptz, j.worker,
            j.errors -> -1 ->> 'error', (j.errors -> -1 ->> 'at')::timestamptz, j.finished_at
        from \(tables.history) j
        """
    }

    /// The unfinished ones of the given jobs.
    ///
    /// - Throws: ``PostgresError``.
    package func find(ids: [Int64], on connection: isolated Connection) throws -> [JobRecord] {
        guard !ids.isEmpty else { return [] }
        return try records("\(liveColumns) where j.id = any(\(ids)) order by j.id", on: connection)
    }

    func records(_ statement: Statement, on connection: isolated Connection) throws -> [JobRecord] {
        try connection.query(statement, into: JobRecord.init)
    }
}

extension JobDetails {
    fileprivate init(record: JobRecord, row: (String, Int16, String?, String?, String?, Bool, Int16?)) {
        self.init(
            record: record,
            arguments: JobDocument(uncheckedJSON: row.0),
            argumentsVersion: row.1,
            maxAttempts: row.6,
            progress: row.2.map(JobDocument.init(uncheckedJSON:)),
            output: row.3.map(JobDocument.init(uncheckedJSON:)),
            errors: row.4.map(JobDocument.init(uncheckedJSON:)),
            isCancelRequested: row.5
        )
    }
}
