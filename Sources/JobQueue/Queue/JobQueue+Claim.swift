package import Postgres

extension JobQueue {
    /// The parameters of a claim besides the lanes.
    package struct ClaimRequest: Sendable {
        let worker: Int64
        var limit: Int
        /// Whether to take only jobs whose process died while it ran them, or only other jobs.
        var suspects = false
        /// The bounds from which to search; nil to search everything.
        var bounds: ClaimBounds.Start?
        /// The limit keys for which jobs are known to wait, by kind; used only with bounds.
        var waiting: [String: WaitingKeys] = [:]

        /// Creates a claim of up to `limit` jobs, by default only of those under which no process died.
        package init(worker: Int64, limit: Int, suspects: Bool = false, bounds: ClaimBounds.Start? = nil) {
            self.worker = worker
            self.limit = limit
            self.suspects = suspects
            self.bounds = bounds
        }

        /// The condition that the jobs `j` match ``suspects``, spelled as an equality where possible: that lets the
        /// claim index use its following columns.
        var crashed: Statement { suspects ? "j.crashes > 0" : "j.crashes = 0" }

        /// Whether the search starts anywhere but at the beginning.
        var isBounded: Bool { bounds?.isEverything == false }

        /// The request for the rest after a claim from bounds found too few jobs; nil if it found enough, or searched
        /// everything.
        func belowBounds(after found: Int) -> ClaimRequest? {
            guard found < limit, isBounded else { return nil }
            var rest = self
            rest.limit -= found
            rest.bounds = nil
            return rest
        }
    }

    /// Claims up to `limit` available jobs of the lanes, in the order of priority and readiness, under new leases.
    ///
    /// Lanes of paused and rate-limited queues and of limited kinds are left out, even if the caller asked for them.
    package func claim(_ lanes: [Lane], _ request: ClaimRequest, on connection: isolated Connection) throws
        -> [ClaimedJob]
    {
        try claimPlain(lanes, request, on: connection).jobs
    }

    /// Claims jobs, and reports whether concurrent claims held some of them.
    func claimPlain(_ lanes: [Lane], _ request: ClaimRequest, on connection: isolated Connection) throws -> PlainClaim {
        guard !lanes.isEmpty, request.limit > 0 else { return PlainClaim(worker: request.worker) }
        var claim = PlainClaim(worker: request.worker)
        for row in try connection.query(claimStatement(lanes, request), as: ClaimRow.self) { claim.add(row) }
        claim.took = .now - claim.sentAt
        return claim
    }

    typealias ClaimRow = (
        Int64, Int64, String, String, Int16, Int16, Int16?, Int16, Int16, Int64, Int64, Bool, String
    )

    /// The columns after the first of a ``ClaimRow`` that is no job: lease 0, and everything else empty.
    static let noJob: Statement = """
        0::bigint, '', '', 0::smallint, 0::smallint, null::smallint, 0::smallint, 0::smallint, 0::bigint, 0::bigint, false, ''
        """

    /// The statement of a claim.
    ///
    /// With several lanes, its first row has lease 0 and, in place of an id, the number of chosen jobs.
    func claimStatement(_ lanes: [Lane], _ request: ClaimRequest) -> Statement {
        guard lanes.count > 1 else {
            return """
                with picked as materialized (
                \(picked(lanes, request))
                )
                \(take("array(select id from picked)", lanes, worker: request.worker))
                """
        }
        return """
            with \(choosing(lanes, request)),
            taken as (
            \(take("array(select id from picked)", lanes, worker: request.worker))
            )
            select \(chosenCount(lanes)), \(Self.noJob)
            union all
            select *
            from taken
            """
    }

    /// Makes locked jobs running, for a worker registered in this life of the database.
    ///
    /// A worker of an earlier life could not end them.
    ///
    /// `ids` is an array and not a join: the plan of a join flips to a scan of the whole table if statistics were taken
    /// while the table was empty. Only people and workers of older releases read `deadline_at`: a worker of this
    /// release uses its own clock.
    func take(_ ids: Statement, _ lanes: [Lane], worker: Int64) -> Statement {
        let seconds = lanes.map(\.timeout.seconds)
        // Often all kinds of a worker have the same timeout; only otherwise is it looked up for each job.
        let timeout: Statement =
            if let only = seconds.first, seconds.allSatisfy({ $0 == only }) {
                "\(only)::double precision"
            } else {
                "(\(seconds)::double precision[])[array_position(\(lanes.map(\.kind))::text[], kind::text)]"
            }
        return """
            update \(tables.jobs)
            set state = 'running',
                worker = \(worker),
                lease = \(tables.nextLease),
                attempt = least(attempt, 32000) + 1,
                claimed_at = statement_timestamp(),
                deadline_at = statement_timestamp() + \(timeout) * interval '1 second'
            where id = any(\(ids))
            and \(tables.isRegistered(worker))
            returning id, lease, queue, kind, attempt, crashes, max_attempts, args_version, priority,
                (extract(epoch from \(Self.readyAt)) * 1000000)::bigint,
                greatest(0, (extract(epoch from statement_timestamp() - (\(Self.readySince))) * 1000000)::bigint),
                cancel_requested_at is not null,
                args::text
            """
    }
}

extension ClaimedJob {
    init(_ row: JobQueue.ClaimRow, of worker: Int64) {
        self.init(
            leased: JobLease(id: row.0, lease: row.1, worker: worker),
            queue: row.2,
            kind: row.3,
            attempt: row.4,
            crashes: row.5,
            maxAttempts: row.6,
            argumentsVersion: row.7,
            priority: row.8,
            readyAt: row.9,
            waited: row.10,
            isCancelled: row.11,
            arguments: row.12
        )
    }
}
