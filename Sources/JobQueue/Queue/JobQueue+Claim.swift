package import Postgres

extension JobQueue {
    /// What a claim needs to know besides the lanes.
    package struct ClaimRequest: Sendable {
        let worker: Int64
        var limit: Int
        /// Only jobs under which a process died, or only others.
        var suspects = false
        /// Where to begin; nil to look at everything.
        var bounds: ClaimBounds.Start?
        /// The limit keys for which jobs are known to wait, by kind; only used with bounds.
        var waiting: [String: WaitingKeys] = [:]

        /// A claim of up to `limit` jobs that no process died under.
        package init(worker: Int64, limit: Int, suspects: Bool = false, bounds: ClaimBounds.Start? = nil) {
            self.worker = worker
            self.limit = limit
            self.suspects = suspects
            self.bounds = bounds
        }

        /// That the jobs `j` are among those, spelled as an equality where it is one: the claim index goes on behind
        /// it.
        var crashed: Statement { suspects ? "j.crashes > 0" : "j.crashes = 0" }

        /// Whether it begins anywhere but at the start.
        var isBounded: Bool { bounds?.isEverything == false }

        /// The request for the rest, when a claim from bounds found so few; nil when it found enough, or looked at
        /// everything.
        func belowBounds(after found: Int) -> ClaimRequest? {
            guard found < limit, isBounded else { return nil }
            var rest = self
            rest.limit -= found
            rest.bounds = nil
            return rest
        }
    }

    /// Takes up to `limit` available jobs of the lanes, in the order of priority and readiness, and holds them under
    /// new leases.
    ///
    /// Lanes of paused and rate-limited queues and of limited kinds are left out, whatever the caller thought of them.
    package func claim(_ lanes: [Lane], _ request: ClaimRequest, on connection: isolated Connection) throws
        -> [ClaimedJob]
    {
        try claimPlain(lanes, request, on: connection).jobs
    }

    /// Claims jobs, and tells whether other claims had their hands on some of them.
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

    /// The rest of a ``ClaimRow`` that is none of a job: the number of no lease, and nothing else.
    static let noJob: Statement = """
        0::bigint, '', '', 0::smallint, 0::smallint, null::smallint, 0::smallint, 0::smallint, 0::bigint, 0::bigint, false, ''
        """

    /// The statement of a claim; of several lanes its first row has no lease, and for an id how many jobs were chosen.
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

    /// Makes locked jobs running ones, for a worker of this life of the database: another could end none of them.
    ///
    /// `ids` is an array and not a join: the plan of a join flips to a scan of the whole table when statistics were
    /// taken while it was empty. Of `deadline_at` only people read, and workers of older releases: a worker of this one
    /// goes by its own clock.
    func take(_ ids: Statement, _ lanes: [Lane], worker: Int64) -> Statement {
        let seconds = lanes.map(\.timeout.seconds)
        // All kinds of a worker often have one time limit; a search per job is for the others.
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
