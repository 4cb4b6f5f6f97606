import JobQueue
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes down what happens to one request: each step before it begins and after it ends, and why it stands still.
///
/// What is written in one statement does not wait for the disk: a server that dies within the next moment may lose it,
/// and nothing that was written before it alone, since the log is one. The step is then taken again, as after the death
/// of the worker, which every step bears. Some of its writes wait: the lock-out, before anybody outside is asked to
/// forget the account, see ``DeletionServices/flushes``, that Apple is asked, and the receipt, which is the promise that
/// all is done; each takes along what was written before.
struct DeletionJournal: Sendable {
    let request: UUID
    /// Refuses to write when the job that drives the request was taken away from this process.
    let fence: JobFence?

    /// Holds the fence for the rest of a transaction that has written nothing yet, whose commit does not wait for the
    /// disk.
    ///
    /// Waits for locks end after `lockTimeout`, also those of statements whose deadline is as long as `deadline`.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`.
    func fence(_ connection: isolated Connection, lockTimeout: Duration? = nil, deadline: Duration? = nil) throws {
        var set: Statement
        if let lockTimeout {
            set = "\(unflushed) || set_config('lock_timeout', \("\(lockTimeout.wholeSeconds)s"), true)"
        } else {
            set = unflushed
        }
        if let deadline { set = "\(set) || \(AccountRows.allowing(deadline))" }
        // The server's limits are raised with the first statement of that deadline, and that of locks is set after it.
        let isHeld =
            try connection.first("\(set) from (\(held)) as lease", as: String.self, deadline: deadline) != nil
        if !isHeld, let fence { throw fence.lost }
    }

    /// Holds the fence for the rest of a transaction whose commit waits for the disk.
    func fenceFlushing(_ connection: isolated Connection) throws {
        try fence?.hold(on: connection)
    }

    /// A query that has a row while the fence holds.
    private var held: Statement { fence?.held ?? "select true" }

    /// Keeps the commit of a transaction from waiting for the disk.
    private var unflushed: Statement { "select set_config('synchronous_commit', 'off', true)" }

    /// Records that a step begins, and the state meanwhile, unless the request has ended or a brake lies on it; and
    /// reads the request, as it was before.
    ///
    /// The request's row is locked for it: whoever cancels or pauses at this moment comes before and is seen, or comes
    /// after and sees that the step has begun. What the step counted when it was done before stays until it is done
    /// again.
    ///
    /// - Returns: The request, and whether the step has begun; nil where there is no such request.
    func begin(_ step: DeletionStep, _ state: DeletionState, on connection: isolated Connection) throws
        -> (record: DeletionRecord, isBegun: Bool)?
    {
        let read = try DeletionRecord.read(
            request,
            """
            with held as materialized (\(unflushed) from (\(held)) as lease),
            open as materialized (
                select r.id
                from \(DeletionRecord.source(request))
                  and r.finished_at is null
                  and not \(DeletionBrakes.isPaused)
                  and not \(DeletionBrakes.isHeld)
                  and not \(DeletionBrakes.isOtherAccount)
                  -- A server that died may have forgotten the lock-out that the step rests on.
                  and (\(step <= .lockOut) or r.locked_out_at is not null)
                  and exists (select from held)
                for no key update of r
            ),
            request as (
                update accountctl.deletion_requests
                set state = \(state.rawValue)
                where id = \(request) and state <> \(state.rawValue) and exists (select from open)
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

    /// Records that a step ended whose effect is recorded by nothing else.
    func finish(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        throws
    {
        try write(ending(step, outcome, facts), on: connection)
    }

    /// Records that a step ended, or corrects how it did, in the transaction of its effect.
    func record(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        throws
    {
        try connection.execute("with held as (select true), \(ending(step, outcome, facts)) select from held")
    }

    private func ending(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts) -> Statement {
        // Apple's step says how it went for the request as a whole.
        let isApple = step == .revokeApple
        // For whoever concludes later, when nothing else tells of it any more.
        let key = StepOutcome.grantUnknown.rawValue
        let unknown = isApple ? facts.counts?.filter { $0.key == key } ?? [:] : [:]
        return """
            request as (
                update accountctl.deletion_requests
                set situation = null,
                    situation_since = null,
                    failures = 0,
                    apple_failures = 0,
                    apple_outcome = case when \(isApple) then \(outcome.rawValue) else apple_outcome end,
                    apple_counts = apple_counts || \(JSON(unknown))
                where id = \(request)
                  and (\(isApple) or situation is not null or failures > 0 or apple_failures > 0)
                  and exists (select from held)
            ),
            step as (
                insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, finished_at, outcome, facts)
                select
                    \(request), \(step.rawValue), 1, clock_timestamp(), clock_timestamp(), \(outcome.rawValue), \(JSON(facts))
                from held
                on conflict (request_id, step) do update
                set finished_at = excluded.finished_at, outcome = excluded.outcome, facts = excluded.facts
            )
            """
    }

    /// What a step counted when it was last done.
    func counts(of step: DeletionStep, on connection: isolated Connection) throws -> [String: Int] {
        try connection.first(
            """
            select coalesce(facts -> 'counts', '{}')
            from accountctl.deletion_steps
            where request_id = \(request) and step = \(step.rawValue)
            """,
            as: JSON<[String: Int]>.self
        )?.value ?? [:]
    }

    /// Adds to what a step counted when it was last done.
    func add(_ counts: [String: Int], to step: DeletionStep, on connection: isolated Connection) throws {
        let sums = try self.counts(of: step, on: connection).merging(counts, uniquingKeysWith: +)
        try write(
            """
            step as (
                update accountctl.deletion_steps
                set facts = coalesce(facts, '{}') || jsonb_build_object('counts', (\(JSON(sums)))::jsonb)
                where request_id = \(request) and step = \(step.rawValue) and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Marks a step as finished again that another process began again after it was done.
    func restore(_ step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.deletion_steps
            set finished_at = clock_timestamp(), outcome = \(StepOutcome.ok.rawValue)
            where request_id = \(request) and step = \(step.rawValue) and finished_at is null
            """
        )
    }

    /// Takes back that a step began, unless it was done before or may have done what cannot be undone.
    func withdraw(_ step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            delete from accountctl.deletion_steps
            where request_id = \(request)
              and step = \(step.rawValue)
              and finished_at is null
              and facts is null
              and not exists (
                  -- Credentials that were dealt with are counted, by whatever release, with Apple or without; only
                  -- workers of an earlier one keep no facts of what they ask Apple in vain.
                  select
                  from accountctl.deletion_requests as r
                  where r.id = request_id
                    and (r.apple_failures > 0 or r.apple_counts <> '{}')
              )
            """
        )
    }

    /// Takes back that the step at Apple began, unless a try came as far as Apple, or gave a credential up.
    func withdrawUnasked(in pool: Pool) async throws {
        try await pool.withTransaction { connection in
            try fence(connection)
            try withdraw(.revokeApple, on: connection)
        }
    }

    /// Records, in a transaction that holds the fence, that what a step does next cannot be undone: from here on it has
    /// begun, whatever becomes of it.
    func commit(to step: DeletionStep, on connection: isolated Connection) throws {
        try connection.execute(
            """
            -- The row may have been lost with the end of the server's log, and what it told then with it.
            insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, facts)
            values (\(request), \(step.rawValue), 1, clock_timestamp(), '{}')
            on conflict (request_id, step) do update
            set facts = coalesce(s.facts, '{}')
            """
        )
    }

    /// Whether the preflight left something unasked.
    func isUntried(on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from accountctl.deletion_steps
                where request_id = \(request)
                  and step = \(DeletionStep.preflight.rawValue)
                  and facts -> 'untried' is not null
            )
            """,
            as: Bool.self
        )
    }

    /// Records that what the preflight left unasked was asked since.
    func recordTrial(on connection: isolated Connection) throws {
        try write(
            """
            step as (
                update accountctl.deletion_steps
                set facts = facts - 'untried'
                where request_id = \(request)
                  and step = \(DeletionStep.preflight.rawValue)
                  and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Records why the request stands still; the time since when is that of the first time in a row.
    func stop(
        _ state: DeletionState,
        _ situation: Situation?,
        failed: Bool = false,
        waitsForApple: Bool = false,
        on connection: isolated Connection
    ) throws {
        try write(
            """
            request as (
                update accountctl.deletion_requests
                set state = \(state.rawValue),
                    situation = \(situation.map(JSON.init)),
                    situation_since = case
                        when \(situation == nil) then null
                        when situation ->> 'code' = \(situation?.code.rawValue) then situation_since
                        else clock_timestamp()
                    end,
                    apple_waiting_since = case
                        when \(waitsForApple || state == .waitingForApple) then coalesce(apple_waiting_since, clock_timestamp())
                        else apple_waiting_since
                    end,
                    failures = case when \(failed) then failures + 1 else failures end,
                    apple_failures = case
                        -- A key that we lack says nothing of Apple.
                        when \(failed && waitsForApple && situation?.code != .sealingKeyMissing) then apple_failures + 1
                        else apple_failures
                    end
                where id = \(request) and finished_at is null and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Takes back steps that have to be done again.
    func takeBack(_ steps: [DeletionStep], on connection: isolated Connection) throws {
        try write(
            """
            steps as (
                update accountctl.deletion_steps
                set finished_at = null, outcome = null
                where request_id = \(request) and step = any(\(steps.map(\.rawValue))) and exists (select from held)
            ),
            request as (
                -- Those of another step: they say nothing about the earlier one.
                update accountctl.deletion_requests
                set failures = 0
                where id = \(request) and failures > 0 and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Makes changes that go by `held`, which has a row while the fence holds, in a transaction of their own.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, and nothing is written.
    func write(_ changes: Statement, on connection: isolated Connection) throws {
        _ = try write(changes, asking: "true", on: connection)
    }

    /// The same, with the answer to a question, as of before the changes.
    func write(_ changes: Statement, asking question: Statement, on connection: isolated Connection) throws -> Bool {
        let (isHeld, answer) = try connection.one(
            """
            with held as materialized (\(unflushed) from (\(held)) as lease),
            \(changes)
            select exists (select from held), \(question)
            """,
            as: (Bool, Bool).self
        )
        if !isHeld, let fence { throw fence.lost }
        return answer
    }
}
