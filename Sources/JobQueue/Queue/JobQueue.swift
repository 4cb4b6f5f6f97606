package import Postgres

/// The job table: enqueueing jobs, and what operators do with them.
///
/// Holds no state of its own; ``Worker`` runs the jobs.
package struct JobQueue: Sendable {
    let tables = JobTables.standard

    /// Notifies workers of new jobs after their transaction commits; nil leaves that to each call, or to the workers'
    /// polling.
    let waker: JobWaker?

    /// Settings for sessions that claim and finish jobs.
    ///
    /// A job table is empty when a worker starts and for most of its life, and the server caches a plan made then: a
    /// scan of the whole table, even when the table holds a hundred thousand jobs a moment later. With `enable_seqscan`
    /// off, the planner chooses the index at any size. `jit` is off because the cost that the planner then gives to
    /// every scan without an index would trigger compilation.
    package static let sessionSettings = ["enable_seqscan": "off", "jit": "off"]

    /// Settings for sessions that run nothing but the engine's own statements: those of a worker's control pool.
    ///
    /// The server would plan a claim of a few lanes again each time, because it estimates the generic plan to be more
    /// expensive; planning takes twice as long as the claim. The generic plan is just as good: there is only one index
    /// for each of these queries.
    ///
    /// When it estimates a lane to be short, the server would also collect the whole lane with a bitmap scan and sort
    /// it instead of following the index in order: for each priority of a claim from bounds, and for a whole lane once
    /// a vacuum has counted what a burst left over. No statement of the engine needs to combine several index scans.
    ///
    /// Waits for another session's row lock are short: everything else that the worker has to write and claim comes
    /// first.
    package static let controlSettings = sessionSettings.merging(
        [
            "plan_cache_mode": "force_generic_plan",
            "enable_bitmapscan": "off",
            "lock_timeout": "\(patience.wholeMilliseconds)",
        ]
    ) { $1 }

    /// Creates a queue over the tables that the migrations create.
    package init(waker: JobWaker? = nil) {
        self.waker = waker
    }

    /// Adds jobs in a transaction of their own and wakes workers after the commit, or with it.
    ///
    /// - Throws: ``PostgresError``; if its outcome is in doubt, jobs with unique keys may safely be enqueued again.
    ///   ``JobQueueError`` naming the arguments if the server rejects them as JSON.
    @discardableResult
    package func enqueue(_ jobs: [NewJob], in pool: Pool) async throws -> [EnqueuedJob] {
        let queues = Set(jobs.filter { $0.runAt == nil }.map(\.queue))
        // One statement needs no transaction around it.
        let isOneStatement = jobs.allSatisfy { $0.uniqueKey == nil }
        return try await pool.withConnection { connection in
            // The first job of a burst notifies with its own commit: an idle worker hears of it a round trip sooner.
            if jobs.count == 1, jobs[0].isPlain, let waker, waker.takeTurn() {
                defer { waker.endTurn() }
                do {
                    return [try enqueueAndNotify(jobs[0], on: connection)]
                } catch {
                    // The commit may have succeeded.
                    waker.keep(queues)
                    throw error
                }
            }
            let enqueued =
                isOneStatement
                ? try self.enqueue(jobs, on: connection)
                : try await connection.transaction { connection in try self.enqueue(jobs, on: connection) }
            // On the same pooled connection, because each change of threads costs as much as a statement. If the
            // notification fails, the jobs are still there: polling finds them.
            try? wake(queues, on: connection)
            return enqueued
        }
    }

    /// Notifies workers that these queues may have new jobs.
    ///
    /// Call it after the commit; an unnecessary call does no harm.
    package func wake(_ queues: Set<String>, in pool: Pool) async throws {
        let due = waker?.signal(queues) ?? queues
        guard !due.isEmpty else { return }
        do {
            try await pool.withConnection { connection in
                try notifyUnflushed(due, on: connection)
            }
        } catch {
            waker?.keep(due)
            throw error
        }
    }

    /// Notifies workers over a connection that the caller already holds; queues that a ``waker`` holds back for later
    /// are not sent now.
    ///
    /// Call it after the commit; inside a transaction this is the same as ``wakeAtCommit(_:on:)``.
    package func wake(_ queues: Set<String>, on connection: isolated Connection) throws {
        // Workers notified before the commit would look too soon, and the caller's commit must not go unflushed.
        guard !connection.isInTransaction else { return try wakeAtCommit(queues, on: connection) }
        let due = waker?.signal(queues) ?? queues
        guard !due.isEmpty else { return }
        do {
            try notifyUnflushed(due, on: connection)
        } catch {
            // For example, the task was cancelled after its jobs were added.
            waker?.keep(due)
            throw error
        }
    }

    /// Notifies workers when the caller's transaction commits.
    ///
    /// For callers that enqueue rarely, such as operators: the lock of the notification serializes all such commits.
    package func wakeAtCommit(_ queues: Set<String>, on connection: isolated Connection) throws {
        if !queues.isEmpty { try notify(queues, on: connection) }
    }

    /// Notifies in a transaction of its own, or of the caller's.
    func notify(_ notes: Set<String>, on connection: isolated Connection) throws {
        try connection.execute(
            "select pg_notify(\(tables.channel), note) from unnest(\(notes.sorted())::text[]) as note"
        )
    }

    /// Notifies in a transaction of its own, without waiting for the WAL flush.
    ///
    /// If a crash loses the notification, polling makes up for it; a flush would hold the lock that all notifications
    /// share.
    func notifyUnflushed(_ notes: Set<String>, on connection: isolated Connection) throws {
        try connection.execute(
            """
            select pg_notify(\(tables.channel), note), set_config('synchronous_commit', 'off', true)
            from unnest(\(notes.sorted())::text[]) as note
            """
        )
    }
}
