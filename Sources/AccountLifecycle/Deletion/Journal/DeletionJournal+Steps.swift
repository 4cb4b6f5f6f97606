import JobQueue
import Postgres

/// Records of steps that begin, end, and are repeated.
extension DeletionJournal {
    /// The situations that no longer apply once a step begins; the step itself finds out whether another is resolved.
    private static let brakes: [Situation.Code] = [.paused, .legalHold, .otherAccount]

    /// Records that a step begins, and the state while it runs, unless the request has ended or a brake stops it; and
    /// reads the request, as it was before.
    ///
    /// The situation of a brake that was released is cleared.
    ///
    /// The request's row is locked: a concurrent cancel or pause comes before and is seen, or comes after and sees that
    /// the step has begun. What the step counted when it was done before stays until it is done again.
    ///
    /// - Returns: The request, and whether the step has begun; nil if there is no such request.
    func begin(_ step: DeletionStep, _ state: DeletionState, on connection: isolated Connection) throws
        -> (record: DeletionRecord, isBegun: Bool)?
    {
        let isReleased: Statement = "situation ->> 'code' = any(\(Self.brakes.map(\.rawValue)))"
        let read = try DeletionRecord.read(
            request,
            """
            with held as materialized (\(Self.unflushed) from (\(held)) as lease),
            open as materialized (
                select r.id
                from \(DeletionRecord.source(request))
                  and r.finished_at is null
                  and not \(DeletionBrakes.isPaused)
                  and not \(DeletionBrakes.isHeld)
                  and not \(DeletionBrakes.isOtherAccount)
                  -- A server that crashed may have lost the lock-out on which the step depends.
                  and (\(step <= .lockOut) or r.locked_out_at is not null)
                  and exists (select from held)
                for no key update of r
            ),
            request as (
                update accountctl.deletion_requests
                set state = \(state.rawValue),
                    situation = case when \(isReleased) then null else situation end,
                    situation_since = case when \(isReleased) then null else situation_since end
                where id = \(request)
                  and (state <> \(state.rawValue) or \(isReleased))
                  and exists (select from open)
            ),
            step as (
                insert into accountctl.deletion_steps as s (request_id, step, runs, started_at)
                select id, \(step.rawValue), 1, clock_timestamp()
                from open
                on conflict (request_id, step) do update
                set runs = s.runs + 1, started_at = clock_timestamp(), finished_at = null, outcome = null
            )
            select \(DeletionRecord.columns), exists (select from open)
            from \(DeletionRecord.source(request)) and exists (select from held)
            """,
            on: connection
        )
        if var read {
            if read.isBegun { read.record.facts.state = state }
            return read
        }
        if let fence, try DeletionRecord.load(request, on: connection) != nil { throw fence.lost }
        return nil
    }

    /// Records the end of a step whose effect is recorded by nothing else.
    func finish(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        throws
    {
        try write(ending(step, outcome, facts), on: connection)
    }

    /// Records the end of a step, or corrects its outcome, in the transaction of its effect.
    func record(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        throws
    {
        try connection.execute("with held as (select true), \(ending(step, outcome, facts)) select from held")
    }

    private func ending(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts) -> Statement {
        // The Apple step sets the outcome of the request as a whole.
        let isApple = step == .revokeApple
        // The codes with an unknown grant are deleted with the account. This count outlasts them, since the outcome is
        // concluded once more when the last pending revocation ends.
        let key = StepOutcome.grantUnknown.rawValue
        let unknown = isApple ? facts.counts?.filter { $0.key == key } ?? [:] : [:]
        // The last search is known by its end, also where the clock was set back after the first.
        let end: Statement =
            step == .settle
            ? """
            greatest(
                clock_timestamp(),
                (
                    select finished_at + interval '1 microsecond'
                    from accountctl.deletion_steps
                    where request_id = \(request) and step = \(DeletionStep.verify.rawValue)
                )
            )
            """ : "clock_timestamp()"
        return """
            request as (
                update accountctl.deletion_requests
                set situation = null,
                    situation_since = null,
                    failures = 0,
                    apple_failures = 0,
                    apple_outcome = case when \(isApple) then \(outcome.rawValue) else apple_outcome end,
                    apple_counts = case when \(isApple) then apple_counts - \(key)::text else apple_counts end
                        || \(JSON(unknown))
                where id = \(request)
                  and (\(isApple) or situation is not null or failures > 0 or apple_failures > 0)
                  -- If the request was cancelled while no credential was held, the step has not ended.
                  and (not \(isApple) or finished_at is null)
                  and exists (select from held)
                returning id
            ),
            step as (
                insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, finished_at, outcome, facts)
                select
                    \(request), \(step.rawValue), 1, clock_timestamp(), \(end), \(outcome.rawValue), \(JSON(facts))
                from held
                where not \(isApple) or exists (select from request)
                on conflict (request_id, step) do update
                set finished_at = excluded.finished_at, outcome = excluded.outcome, facts = excluded.facts
            )
            """
    }

    /// Marks a step as finished again, after another process had begun it again although it was done.
    func restore(_ step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.deletion_steps
            set finished_at = clock_timestamp(), outcome = \(StepOutcome.ok.rawValue)
            where request_id = \(request) and step = \(step.rawValue) and finished_at is null
            """
        )
    }

    /// Marks steps as not done that have to be repeated.
    ///
    /// The count of failures begins anew for an earlier step, which has not failed; it is kept where a step starts over.
    func takeBack(_ steps: [DeletionStep], keepsFailures: Bool, on connection: isolated Connection) throws {
        try write(
            """
            steps as (
                update accountctl.deletion_steps
                set finished_at = null, outcome = null
                where request_id = \(request) and step = any(\(steps.map(\.rawValue))) and exists (select from held)
            ),
            request as (
                update accountctl.deletion_requests
                set failures = 0
                where id = \(request) and failures > 0 and not \(keepsFailures) and exists (select from held)
            )
            """,
            on: connection
        )
    }
}
