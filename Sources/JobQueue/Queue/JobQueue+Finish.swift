package import Postgres

extension JobQueue {
    /// Moves jobs to the history, each only if it is still held under its lease.
    ///
    /// Returns the jobs that were moved.
    package func finish(_ ending: Ending, on connection: isolated Connection) throws -> Set<JobLease> {
        guard !ending.jobs.isEmpty else { return [] }
        return try leased("\(finishStatement(ending)) returning id, lease, worker", on: connection)
    }

    /// The outcomes of those of these jobs that ended under their leases.
    func ended(
        _ jobs: [JobLease],
        deadline: Duration? = nil,
        on connection: isolated Connection
    ) throws -> [JobLease: Ending.Outcome] {
        guard !jobs.isEmpty else { return [:] }
        let rows = try connection.query(
            """
            select id, lease, worker, outcome::text
            from \(tables.history)
            where \(JobTables.isUnderItsLease(jobs, of: "worker"))
            """,
            as: (Int64, Int64, Int64, Ending.Outcome).self,
            deadline: deadline
        )
        // A job that a manual change put there twice counts once.
        return Dictionary(rows.map { (JobLease(id: $0.0, lease: $0.1, worker: $0.2), $0.3) }) { $1 }
    }

    /// Those of these jobs that are held under their leases while another session has their rows locked.
    func locked(_ jobs: [JobLease], on connection: isolated Connection) throws -> Set<JobLease> {
        guard !jobs.isEmpty else { return [] }
        return try leased(
            """
            select id, lease, worker
            from \(tables.jobs)
            where \(JobTables.isUnderItsLease(jobs))
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

    func leased(_ statement: Statement, on connection: isolated Connection) throws -> Set<JobLease> {
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

    /// Deletes held jobs from the table.
    func removal(_ ending: Ending) -> Statement {
        """
        delete from \(tables.jobs)
        where \(tables.isHeld(ending.jobs))
        returning *
        """
    }

    /// Inserts the jobs that `ended` deleted into the history, with what their ending says about each.
    func keeping(_ ending: Ending) -> Statement {
        """
        \(
            intoHistory(
                ending.outcome,
                reason: reason(ending),
                output: ofJob(ending.outputs.json, text: false),
                errors: errors(ending.failures.json)
            )
        )
        where \(Self.waitsBriefly)
        """
    }

    /// Inserts the jobs of `ended` into the history.
    func intoHistory(
        _ outcome: Ending.Outcome,
        reason: Statement,
        output: Statement = "null",
        errors: Statement = "errors"
    ) -> Statement {
        """
        insert into \(tables.history) (
            id, lease, worker, run_at, created_at, claimed_at, outcome, priority, attempt, crashes, max_attempts,
            args_version, queue, kind, unique_key, limit_key, reason, args, progress, output, errors
        )
        select
            id, lease, worker, run_at, created_at, claimed_at,
            \(outcome.rawValue)::\(tables.schema).job_end,
            priority, attempt, crashes, max_attempts, args_version, queue, kind, unique_key, limit_key,
            \(reason), args, progress, \(output),
            \(errors)
        from ended
        """
    }

    /// Why a job ended; for a cancelled job, the canceller's reason takes precedence over the handler's.
    private func reason(_ ending: Ending) -> Statement {
        let reason = ofJob(ending.reasons.json, text: true)
        return ending.outcome == .cancelled ? "coalesce(cancel_reason, \(reason))" : reason
    }

    private func ofJob(_ object: String?, text: Bool) -> Statement {
        guard let object else { return "null" }
        let member: Statement = text ? "->> \(JobLease.memberName)" : "-> \(JobLease.memberName)"
        return "\(object)::jsonb \(member)"
    }

    private func errors(_ failures: String?) -> Statement {
        guard let failures else { return "errors" }
        return """
            case
                when \(failures)::jsonb ? \(JobLease.memberName) then
                \(Self.appended("\(failures)::jsonb -> \(JobLease.memberName)"))
                else errors
            end
            """
    }

    /// The stored errors with one more, limited to the last ten.
    ///
    /// Dated by the server's clock, as everything about a job: a client that follows changes would miss an error that a
    /// worker's slow clock had dated back.
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
}
