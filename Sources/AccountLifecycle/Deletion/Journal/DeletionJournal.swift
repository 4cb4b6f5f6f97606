import JobQueue
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records what happens to one request: each step before it begins and after it ends, and why the request stands still.
///
/// A write in a single statement does not wait for the disk: a server that crashes within the next moment may lose it,
/// but cannot lose an earlier write and keep a later one, since the write-ahead log is sequential. The step is then
/// repeated, as after the death of the worker, which every step tolerates.
///
/// Three writes wait for the disk, and flush what was written before: the lock-out, before another system is asked to
/// delete anything of the account (see ``DeletionServices/flushes``); the record that Apple is about to be asked; and
/// the receipt, which promises that all is done.
struct DeletionJournal: Sendable {
    let request: UUID
    /// Rejects writes once the job that drives the request was taken away from this process.
    let fence: JobFence?

    /// Holds the fence for the rest of a transaction that has written nothing yet, and whose commit does not wait for
    /// the disk.
    ///
    /// Given a `deadline` for long statements, waits for locks end after five seconds all the same.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`; ``PostgresError`` `configuration` if no triggers run in the transaction.
    func fence(_ connection: isolated Connection, deadline: Duration? = nil) throws {
        var set = Self.unflushed
        if let deadline {
            set = "\(set) || set_config('lock_timeout', '5s', true) || \(AccountRows.allowing(deadline))"
        }
        // The first statement with that deadline raises the server's limits; the lock timeout is set after that.
        let isHeld =
            try connection.first("\(set) from (\(held)) as lease", as: String.self, deadline: deadline) != nil
        if !isHeld, let fence { throw fence.lost }
        try connection.requireTriggers()
    }

    /// Holds the fence for the rest of a transaction whose commit waits for the disk.
    func fenceFlushing(_ connection: isolated Connection) throws {
        try fence?.hold(on: connection)
    }

    /// A query that returns a row while the fence holds.
    var held: Statement { fence?.held ?? "select true" }

    /// A query that makes the commit of a transaction not wait for the disk.
    static let unflushed: Statement = "select set_config('synchronous_commit', 'off', true)"

    /// Records why the request stands still; `situation_since` is the time of the first of equal situations in a row.
    ///
    /// - Returns: Whether it has another cause than the situation before: another kind, subject, table or column.
    @discardableResult
    func stop(
        _ state: DeletionState,
        _ situation: Situation?,
        failures: Int = 0,
        waitsForApple: Bool = false,
        on connection: isolated Connection
    ) throws -> Bool {
        let isOfApple = situation?.code != .sealingKeyMissing && situation?.isUnasked != true
        return try write(
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
                    failures = failures + \(failures),
                    apple_failures = case
                        -- A key that we lack says nothing about Apple, nor does a call that was not sent.
                        when \(failures > 0 && waitsForApple && isOfApple) then apple_failures + 1
                        else apple_failures
                    end
                where id = \(request) and finished_at is null and exists (select from held)
            )
            """,
            asking: """
                not exists (
                    select
                    from accountctl.deletion_requests as r
                    cross join (select (\(situation.map(JSON.init)))::jsonb) as given (situation)
                    where r.id = \(request)
                      and \(Self.cause("r.situation")) is not distinct from \(Self.cause("given.situation"))
                )
                """,
            on: connection
        )
    }

    /// The facts that identify the cause of a situation; others, such as numbers of rows, change from check to check.
    private static func cause(_ situation: Statement) -> Statement {
        """
        (
            \(situation) ->> 'code',
            \(situation) ->> 'subject',
            array(select distinct b ->> 'table' from jsonb_array_elements(\(situation) -> 'blockers') as b order by 1),
            array(select distinct f ->> 'column' from jsonb_array_elements(\(situation) -> 'findings') as f order by 1)
        )
        """
    }

    /// Records that Apple can be used again for the request.
    func endWaitForApple(on connection: isolated Connection) throws {
        try write(
            """
            request as (
                update accountctl.deletion_requests
                set apple_waiting_since = null
                where id = \(request) and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Makes changes in one statement; they are to apply only if `held` has a row, which it has while the fence holds.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, and nothing is written.
    func write(_ changes: Statement, on connection: isolated Connection) throws {
        _ = try write(changes, asking: "true", on: connection)
    }

    /// Makes changes as ``write(_:on:)`` does, and answers a question about the state before them.
    func write(_ changes: Statement, asking question: Statement, on connection: isolated Connection) throws -> Bool {
        let (isHeld, answer) = try connection.one(
            """
            with held as materialized (\(Self.unflushed) from (\(held)) as lease),
            \(changes)
            select exists (select from held), \(question)
            """,
            as: (Bool, Bool).self
        )
        if !isHeld, let fence { throw fence.lost }
        return answer
    }
}
