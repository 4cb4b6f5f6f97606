package import Postgres

extension JobQueue {
    /// Moves jobs to the history, each only if it is still held under its lease.
    ///
    /// Returns those that were.
    package func finish(_ ending: Ending, on connection: isolated Connection) throws -> Set<JobLease> {
        guard !ending.jobs.isEmpty else { return [] }
        return try leased("\(finishStatement(ending)) returning id, lease, worker", on: connection)
    }

    /// How those of these jobs ended that did so under their leases.
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
        // A job that a hand put there twice is one.
        return Dictionary(rows.map { (JobLease(id: $0.0, lease: $0.1, worker: $0.2), $0.3) }) { $1 }
    }

    /// Which of these jobs are held under their leases while another session has their rows locked.
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

    /// Puts the jobs of `ended` into the history.
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

    /// Why a job ended: of one that was cancelled, what whoever asked for that said before what its handler did.
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
}
