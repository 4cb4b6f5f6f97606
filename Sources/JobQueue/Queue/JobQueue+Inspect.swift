package import Postgres

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
            let order: Statement = """
                order by case j.state when 'running' then 0 when 'available' then 1 when 'scheduled' then 2 else 3 end,
                    -- The priority of a scheduled job counts only once its time has come.
                    case j.state when 'scheduled' then j.run_at end, j.priority, j.run_at, j.id
                """
            jobs = try records(
                """
                \(liveColumns)
                -- The jobs are chosen first: working out every column of a million of them takes two seconds.
                where j.id = any(array(
                    select j.id
                    from \(tables.jobs) j
                    where (
                        cardinality(\(live)::text[]) = 0
                        or j.state = any(\(live)::text[]::\(tables.schema).job_state[])
                    )
                    and (not \(filter.isExhausted) or j.exhausted_at is not null)
                    and \(common)
                    \(order)
                    limit \(limit)
                ))
                \(order)
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
    static func isOfPlaces(_ filter: JobFilter) -> Statement {
        """
        (cardinality(\(filter.queues)::text[]) = 0 or j.queue = any(\(filter.queues)::text[]))
        and (cardinality(\(filter.kinds)::text[]) = 0 or j.kind = any(\(filter.kinds)::text[]))
        """
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

    /// The unfinished ones of the given jobs.
    ///
    /// - Throws: ``PostgresError``.
    package func find(ids: [Int64], on connection: isolated Connection) throws -> [JobRecord] {
        guard !ids.isEmpty else { return [] }
        return try records("\(liveColumns) where j.id = any(\(ids)) order by j.id", on: connection)
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
