package import Postgres

extension JobQueue {
    /// Ended jobs of one outcome, to be moved to the history in one statement.
    package struct Ending: Sendable {
        /// How they ended.
        package enum Outcome: String, Sendable {
            case completed, cancelled, discarded
        }

        let outcome: Outcome
        var jobs: [JobLease] = []
        /// The text of one JSON object of ``JobLease/member(_:)``.
        var outputs: String?
        var reasons: String?
        /// The last failure of each job.
        var failures: String?

        /// Jobs that ended alike.
        package init(
            outcome: Outcome,
            jobs: [JobLease] = [],
            outputs: String? = nil,
            reasons: String? = nil,
            failures: String? = nil
        ) {
            self.outcome = outcome
            self.jobs = jobs
            self.outputs = outputs
            self.reasons = reasons
            self.failures = failures
        }
    }

    /// Moves jobs to the history, each only if it is still held under its lease.
    ///
    /// Returns those that were.
    package func finish(_ ending: Ending, on connection: isolated Connection) throws -> Set<JobLease> {
        guard !ending.jobs.isEmpty else { return [] }
        return try leased("\(finishStatement(ending)) returning id, lease, worker", on: connection)
    }

    /// Which of these jobs ended under their leases.
    func ended(_ jobs: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        try leased(
            "select id, lease, worker from \(tables.history) where \(JobTables.isUnderItsLease(jobs))",
            on: connection
        )
    }

    /// Which of these jobs are held under their leases while another session has their rows locked.
    func locked(_ jobs: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        guard !jobs.isEmpty else { return [] }
        return try leased(
            """
            select id, lease, worker
            from \(tables.jobs)
            where \(JobTables.isUnderItsLease(jobs))
            and state = 'running'
            and id <> all(array(
                select id
                from \(tables.jobs)
                where \(JobTables.isUnderItsLease(jobs))
                for update skip locked
            ))
            """,
            on: connection
        )
    }

    private func leased(_ statement: Statement, on connection: isolated Connection) throws -> Set<JobLease> {
        let rows = try connection.query(statement, as: (Int64, Int64, Int64).self)
        return Set(rows.map { JobLease(id: $0.0, lease: $0.1, worker: $0.2) })
    }

    func finishStatement(_ ending: Ending) -> Statement {
        """
        with ended as (
        \(removal(ending))
        )
        \(keeping(ending))
        """
    }

    /// Takes held jobs out of the table.
    func removal(_ ending: Ending) -> Statement {
        """
        delete from \(tables.jobs)
        where \(tables.isHeld(ending.jobs))
        returning *
        """
    }

    /// Puts what `ended` took out into the history.
    func keeping(_ ending: Ending) -> Statement {
        """
        insert into \(tables.history) (
            id, lease, worker, run_at, created_at, claimed_at, outcome, priority, attempt, crashes, max_attempts,
            args_version, queue, kind, unique_key, limit_key, reason, args, progress, output, errors
        )
        select
            id, lease, worker, run_at, created_at, claimed_at,
            \(ending.outcome.rawValue)::\(tables.schema).job_end,
            priority, attempt, crashes, max_attempts, args_version, queue, kind, unique_key, limit_key,
            \(reason(ending)), args, progress, \(ofJob(ending.outputs, text: false)),
            \(errors(ending.failures))
        from ended
        where \(Self.waitsBriefly)
        """
    }

    /// Why a job ended: of one that was cancelled, what whoever asked for that said before what its handler did.
    private func reason(_ ending: Ending) -> Statement {
        let reason = ofJob(ending.reasons, text: true)
        return ending.outcome == .cancelled ? "coalesce(cancel_reason, \(reason))" : reason
    }

    private func ofJob(_ object: String?, text: Bool) -> Statement {
        guard let object else { return "null" }
        let member: Statement = text ? "->> \(JobLease.memberName)" : "-> \(JobLease.memberName)"
        return "\(object)::jsonb \(member)"
    }

    private func errors(_ failures: String?) -> Statement {
        guard let failures else { return "errors" }
        return Self.appended("\(failures)::jsonb -> \(JobLease.memberName)")
    }

    /// The stored errors with one more, the last ten.
    ///
    /// Dated by the server's clock, as all that is told of a job: whoever follows jobs would pass over an error that a
    /// worker's late clock dated back.
    static func appended(_ entry: Statement) -> Statement {
        """
        (
            select jsonb_agg(entry order by n)
            from (
                select entry, n
                from jsonb_array_elements(
                    coalesce(errors, '[]')
                    || jsonb_build_array((\(entry)) || jsonb_build_object('at', clock_timestamp()))
                ) with ordinality as kept(entry, n)
                order by n desc
                limit 10
            ) as newest
        )
        """
    }

    /// How a held job goes on when it does not end.
    struct Return: Sendable {
        let job: JobLease
        /// How long to wait; nil to be available at once.
        let wait: Duration?
        /// Whether the attempt does not count.
        let givesAttemptBack: Bool
        /// What failed, as a JSON object, or nil.
        let failure: String?
        /// Whether the usual attempts are used up.
        let isExhausted: Bool
        /// A crash count to go on with, or nil to leave it.
        var crashes: Int16?
        /// Whether its handler came through and asks to be called again: an alarm over what failed before is over.
        var isWell = false
    }

    /// Gives a job back under its lease; at once, whatever it asks for, where `run_at` was set to now while it ran.
    ///
    /// Returns whether it is available now; nil when the lease is lost, or when the job is to be cancelled instead.
    func giveBack(_ back: Return, on connection: isolated Connection) throws -> Bool? {
        // Woken while it ran: whatever it would wait for may be over, which it did not see.
        let wasWoken: Statement = "run_at > claimed_at"
        let state: Statement =
            back.wait == nil
            ? "'available'"
            : "case when \(wasWoken) then 'available'::\(tables.schema).job_state else 'scheduled'::\(tables.schema).job_state end"
        let errors: Statement = back.failure.map { Self.appended("\($0)::jsonb") } ?? "errors"
        // After an alarm it would have one attempt a day for good.
        let attempt: Statement =
            switch (back.isWell, back.givesAttemptBack) {
            case (true, _): "case when exhausted_at is null then greatest(0, attempt - 1) else 0 end"
            case (false, true): "greatest(0, attempt - 1)"
            case (false, false): "attempt"
            }
        let exhaustedAt: Statement =
            switch (back.isExhausted, back.isWell) {
            case (true, _): "coalesce(exhausted_at, clock_timestamp())"
            case (false, true): "null"
            case (false, false): "exhausted_at"
            }
        return try connection.first(
            """
            update \(tables.jobs)
            set state = \(state),
                \(tables.unleased),
                run_at = clock_timestamp() + case
                    when \(wasWoken) then interval '0'
                    else \((back.wait ?? .zero).seconds)::double precision * interval '1 second'
                end,
                attempt = \(attempt),
                crashes = coalesce(\(back.crashes)::smallint, crashes),
                exhausted_at = \(exhaustedAt),
                errors = \(errors)
            where \(tables.isHeld(back.job))
            and cancel_requested_at is null
            and \(Self.waitsBriefly)
            returning state = 'available'
            """,
            as: Bool.self
        )
    }

    /// Hands jobs back as if they had never been claimed: at the end of a worker, or when a claim came too late.
    ///
    /// Returns those that were still held.
    @discardableResult
    func release(_ jobs: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        guard !jobs.isEmpty else { return [] }
        return try leased(
            """
            with held as materialized (
                select id, lease, worker
                from \(tables.jobs)
                where \(JobTables.isUnderItsLease(jobs))
                and state = 'running'
                and \(Self.waitsBriefly)
                for update
            ),
            released as (
                update \(tables.jobs)
                set \(tables.handedBack)
                where id = any(array(select id from held))
            )
            select id, lease, worker from held
            """,
            on: connection
        )
    }

    /// Sets a job aside until somebody, or another release, deals with it.
    ///
    /// Its attempt is given back. False when the lease is lost, or when the job is to be cancelled instead.
    func park(
        _ job: JobLease,
        for reason: String,
        failure: String,
        on connection: isolated Connection
    ) throws -> Bool {
        try connection.execute(
            """
            update \(tables.jobs)
            set state = 'parked',
                parked_for = \(reason),
                \(tables.unleased),
                attempt = greatest(0, attempt - 1),
                errors = \(Self.appended("\(failure)::jsonb"))
            where \(tables.isHeld(job))
            and cancel_requested_at is null
            and \(Self.waitsBriefly)
            """
        ) == 1
    }
}
