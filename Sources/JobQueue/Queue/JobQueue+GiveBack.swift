import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Giving back held jobs that have not ended.
extension JobQueue {
    /// A held job that will run again.
    struct Return: Sendable {
        let job: JobLease
        let next: NextTurn
        /// Why it is parked, until an operator or another release deals with it; nil for another turn.
        let parkedFor: String?
        /// The failure, as the table stores it.
        let failure: JobDocument?

        /// - Throws: `EncodingError`.
        init(_ job: JobLease, _ next: NextTurn, parkedFor: String? = nil) throws {
            self.job = job
            self.next = next
            self.parkedFor = parkedFor
            failure = try next.failure.map { try JobDocument(encoding: $0) }
        }
    }

    /// Gives jobs back under their leases.
    ///
    /// A job whose `run_at` was set to now while it ran becomes available at once, whatever wait it asks for.
    ///
    /// Returns for each job whether it is available now, without those whose lease is lost or that are to be cancelled
    /// instead.
    func giveBack(_ returns: [Return], on connection: isolated Connection) throws -> [JobLease: Bool] {
        guard !returns.isEmpty else { return [:] }
        let returns = returns.sorted { JobTables.areInOrder($0.job, $1.job) }
        var available: [Int64: Bool] = [:]
        for (id, isAvailable) in try connection.query(givingBack(returns), as: (Int64, Bool).self) {
            available[id] = isAvailable
        }
        var landed: [JobLease: Bool] = [:]
        // If a job appears twice, the newer lease lands: in reverse order it comes first.
        for back in returns.reversed() { landed[back.job] = available.removeValue(forKey: back.job.id) }
        return landed
    }

    /// The statement for jobs sorted by ``JobTables/areInOrder(_:_:)``.
    func givingBack(_ returns: [Return]) -> Statement {
        let jobs = returns.map(\.job)
        let next = returns.map(\.next)
        let place = JobTables.place(among: jobs.map(\.id))
        let wait: Statement = "(\(next.map { $0.wait?.seconds })::double precision[])\(place)"
        let instants = next.map { $0.until?.timeIntervalSince1970 }
        let until: Statement = "to_timestamp((\(instants)::double precision[])\(place))"
        let parkedFor: Statement = "(\(returns.map(\.parkedFor))::text[])\(place)"
        let failure: Statement = "(\(returns.map { $0.failure?.json })::text[])\(place)"
        let isWell: Statement = "(\(next.map(\.isWell))::boolean[])\(place)"
        // Woken while it ran: what it would wait for may already be over without its having seen that.
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
                    -- Ignores an instant that is null.
                    else greatest(
                        clock_timestamp(),
                        least(\(until), clock_timestamp() + coalesce(\(wait), 0) * interval '1 second')
                    )
                end,
                -- Does not affect the order once run_at differs: it only says since when the job waits.
                waiting_since = case when \(parkedFor) is null then clock_timestamp() else waiting_since end,
                attempt = case
                    -- Otherwise it would have only one attempt a day for good after an alarm.
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

    /// Hands jobs back as if they had never been claimed: when a worker ends, or when a claim came too late.
    ///
    /// Returns the jobs that were still held.
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
