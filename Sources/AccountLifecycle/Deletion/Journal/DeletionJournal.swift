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
    var held: Statement { fence?.held ?? "select true" }

    /// Keeps the commit of a transaction from waiting for the disk.
    var unflushed: Statement { "select set_config('synchronous_commit', 'off', true)" }

    /// Records why the request stands still; the time since when is that of the first time in a row.
    func stop(
        _ state: DeletionState,
        _ situation: Situation?,
        failed: Bool = false,
        waitsForApple: Bool = false,
        on connection: isolated Connection
    ) throws {
        let isOfApple = situation?.code != .sealingKeyMissing && situation?.isUnasked != true
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
                        -- A key that we lack says nothing of Apple, nor does what was not sent.
                        when \(failed && waitsForApple && isOfApple) then apple_failures + 1
                        else apple_failures
                    end
                where id = \(request) and finished_at is null and exists (select from held)
            )
            """,
            on: connection
        )
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

    /// Makes changes that go by `held`, which has a row while the fence holds, in a transaction of their own.
    ///
    /// - Throws: ``JobQueueError`` `leaseLost`, and nothing is written.
    func write(_ changes: Statement, on connection: isolated Connection) throws {
        _ = try write(changes, asking: "true", on: connection)
    }

    /// Makes changes as ``write(_:on:)`` does, and answers a question as of before them.
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
