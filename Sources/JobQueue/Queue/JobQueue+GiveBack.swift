import Postgres

/// Held jobs that do not end.
extension JobQueue {
    /// A held job that goes on.
    struct Return: Sendable {
        let job: JobLease
        let next: NextTurn
        /// What it is set aside for, until somebody, or another release, deals with it; nil to have another turn.
        let parkedFor: String?
        /// What failed, as the table keeps it.
        let failure: JobDocument?

        /// - Throws: `EncodingError`.
        init(_ job: JobLease, _ next: NextTurn, parkedFor: String? = nil) throws {
            self.job = job
            self.next = next
            self.parkedFor = parkedFor
            failure = try next.failure.map { try JobDocument(encoding: $0) }
        }
    }

    /// Gives jobs back under their leases; at once, whatever they ask for, where `run_at` was set to now while they ran.
    ///
    /// Returns of each whether it is available now, without those whose lease is lost, and those that are to be
    /// cancelled instead.
    func giveBack(_ returns: [Return], on connection: isolated Connection) throws -> [JobLease: Bool] {
        guard !returns.isEmpty else { return [:] }
        let returns = returns.sorted { JobTables.areInOrder($0.job, $1.job) }
        var available: [Int64: Bool] = [:]
        for (id, isAvailable) in try connection.query(givingBack(returns), as: (Int64, Bool).self) {
            available[id] = isAvailable
        }
        var landed: [JobLease: Bool] = [:]
        // Where a job is there twice, the newer lease lands: in reverse order it comes first.
        for back in returns.reversed() { landed[back.job] = available.removeValue(forKey: back.job.id) }
        return landed
    }

    /// The statement for jobs in the order of ``JobTables/areInOrder(_:_:)``.
    func givingBack(_ returns: [Return]) -> Statement {
        let jobs = returns.map(\.job)
        let next = returns.map(\.next)
        let place = JobTables.place(among: jobs.map(\.id))
        let wait: Statement = "(\(next.map { $0.wait?.seconds })::double precision[])\(place)"
        let parkedFor: Statement = "(\(returns.map(\.parkedFor))::text[])\(place)"
        let failure: Statement = "(\(returns.map { $0.failure?.json })::text[])\(place)"
        let isWell: Statement = "(\(next.map(\.isWell))::boolean[])\(place)"
        // Woken while it ran: whatever it would wait for may be over, which it did not see.
        let wasWoken: Statement = "run_at > claimed_at"
        return """
            update \(tables.jobs)
            set state = case
                    when \(parkedFor) is not null then 'parked'::\(tables.schema).job_state
                    when \(wait) is null or \(wasWoken) then 'available'::\(tables.schema).job_state
                    else 'scheduled'::\(tables.schema).job_state
                end,
                parked_for = \(parkedFor),
                \(tables.unleased),
                run_at = case
                    when \(parkedFor) is not null then run_at
                    when \(wasWoken) then clock_timestamp()
                    else clock_timestamp() + coalesce(\(wait), 0) * interval '1 second'
                end,
                -- Counts for no place in the line once run_at is another: it tells since when the job waits.
                waiting_since = case when \(parkedFor) is null then clock_timestamp() else waiting_since end,
                attempt = case
                    -- After an alarm it would have one attempt a day for good.
                    when \(isWell) and exhausted_at is not null then 0
                    when \(isWell) or (\(next.map(\.givesAttemptBack))::boolean[])\(place) then greatest(0, attempt - 1)
                    else attempt
                end,
                crashes = coalesce((\(next.map(\.crashes))::smallint[])\(place), crashes),
                exhausted_at = case
                    when (\(next.map(\.isExhausted))::boolean[])\(place) then coalesce(exhausted_at, clock_timestamp())
                    when \(isWell) then null
                    else exhausted_at
                end,
                errors = case
                    when \(failure) is null then errors
                    else \(Self.appended("\(failure)::jsonb"))
                end
            where \(tables.isHeld(jobs))
            and cancel_requested_at is null
            and \(Self.waitsBriefly)
            returning id, state = 'available'
            """
    }

    /// Hands jobs back as if they had never been claimed: at the end of a worker, or when a claim came too late.
    ///
    /// Returns those that were still held.
    @discardableResult
    func release(_ jobs: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        guard !jobs.isEmpty else { return [] }
        return try leased(releasing(jobs), on: connection)
    }

    func releasing(_ jobs: [JobLease]) -> Statement {
        """
        with held as materialized (
            select id, lease, worker
            from \(tables.jobs)
            where \(JobTables.isUnderItsLease(jobs))
            and \(Self.waitsBriefly)
            for update
        ),
        released as (
            update \(tables.jobs)
            set \(tables.handedBack)
            where id = any(array(select id from held))
        )
        select id, lease, worker from held
        """
    }
}
