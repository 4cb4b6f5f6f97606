import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes down what happens to one request: each step before it begins and after it ends, and why it stands still.
struct DeletionJournal: Sendable {
    let request: UUID
    /// Refuses to write when the job that drives the request was taken away from this process.
    let fence: Fence

    /// What is called inside every transaction that writes, before anything is written.
    typealias Fence = @Sendable (isolated Connection) throws -> Void

    /// Records that a step begins, and the state meanwhile.
    func begin(_ step: DeletionStep, _ state: DeletionState, on connection: isolated Connection) async throws {
        try await connection.transaction { connection in
            try fence(connection)
            try connection.execute(
                """
                with request as (
                    update accountctl.deletion_requests
                    set state = \(state.rawValue)
                    where id = \(request) and state <> \(state.rawValue)
                )
                insert into accountctl.deletion_steps as s (request_id, step, runs, started_at)
                values (\(request), \(step.rawValue), 1, clock_timestamp())
                on conflict (request_id, step) do update
                set runs = s.runs + 1, started_at = clock_timestamp(), finished_at = null, outcome = null, facts = null
                """
            )
        }
    }

    /// Records that a step ended, in a transaction of its own.
    func finish(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        async throws
    {
        try await connection.transaction { connection in
            try fence(connection)
            try record(step, outcome, facts, on: connection)
        }
    }

    /// Records that a step ended, in the transaction of its effect.
    func record(_ step: DeletionStep, _ outcome: StepOutcome, _ facts: StepFacts, on connection: isolated Connection)
        throws
    {
        try connection.execute(
            """
            with request as (
                update accountctl.deletion_requests
                set situation = null, situation_since = null, failures = 0
                where id = \(request) and (situation is not null or failures > 0)
            )
            insert into accountctl.deletion_steps as s (request_id, step, runs, started_at, finished_at, outcome, facts)
            values (
                \(request), \(step.rawValue), 1, clock_timestamp(), clock_timestamp(), \(outcome.rawValue), \(JSON(facts))
            )
            on conflict (request_id, step) do update
            set finished_at = excluded.finished_at, outcome = excluded.outcome, facts = excluded.facts
            """
        )
    }

    /// Records why the request stands still; the time since when is that of the first time in a row.
    func stop(
        _ state: DeletionState,
        _ situation: Situation?,
        failed: Bool = false,
        on connection: isolated Connection
    ) async throws {
        try await connection.transaction { connection in
            try fence(connection)
            try connection.execute(
                """
                update accountctl.deletion_requests
                set state = \(state.rawValue),
                    situation = \(situation.map(JSON.init)),
                    situation_since = case
                        when \(situation == nil) then null
                        when situation ->> 'code' = \(situation?.code.rawValue) then situation_since
                        else clock_timestamp()
                    end,
                    apple_waiting_since = case
                        when \(state == .waitingForApple) then coalesce(apple_waiting_since, clock_timestamp())
                        else apple_waiting_since
                    end,
                    failures = case when \(failed) then failures + 1 else failures end
                where id = \(request) and finished_at is null
                """
            )
        }
    }

    /// Takes back steps that have to be done again.
    func takeBack(_ steps: [DeletionStep], on connection: isolated Connection) async throws {
        try await connection.transaction { connection in
            try fence(connection)
            try connection.execute(
                """
                update accountctl.deletion_steps
                set finished_at = null, outcome = null
                where request_id = \(request) and step = any(\(steps.map(\.rawValue)))
                """
            )
        }
    }
}
