package import Postgres

/// The job table: how jobs get into it, and what operators do with it.
///
/// A value without state of its own; ``Worker`` runs the jobs.
package struct JobQueue: Sendable {
    let tables = JobTables.standard

    /// Tells workers of new jobs when their transaction is committed; nil leaves it to each call, or to the workers'
    /// polling.
    let waker: JobWaker?

    /// What sessions that claim and finish jobs are to be set to.
    ///
    /// A job table is empty when a worker starts and for most of its life, and the server keeps a plan made then: a
    /// scan of the whole table, also when it holds a hundred thousand jobs a moment later. With this it plans for the
    /// index at any size. Compiling statements would follow from the cost that the server then gives to every scan that
    /// has no index.
    package static let sessionSettings = ["enable_seqscan": "off", "jit": "off"]

    /// Settings for sessions that run nothing but the engine's own statements: those of a worker's control pool.
    ///
    /// The server plans a claim of a few lanes anew each time, since it takes the plan for any lanes to be the dearer
    /// one; planning takes twice as long as the claim. The plan for any is as good: there is but one index for each of
    /// these questions.
    ///
    /// The server would also rather collect a whole lane and sort it than follow the index in its order where it takes
    /// the lane for short: it does so for each priority of a claim from bounds, and for all of a lane since a vacuum
    /// counted what a rush left over. Nothing of the engine's needs several scans of an index put together.
    ///
    /// A row that some other session has locked is not waited for long: whatever else the worker has to write and to
    /// claim comes first.
    package static let controlSettings = sessionSettings.merging(
        [
            "plan_cache_mode": "force_generic_plan",
            "enable_bitmapscan": "off",
            "lock_timeout": "\(patience.wholeMilliseconds)",
        ]
    ) { $1 }

    /// The jobs in the tables that the migrations make.
    package init(waker: JobWaker? = nil) {
        self.waker = waker
    }

    /// Adds jobs in a transaction of their own and wakes workers after its commit, or with it.
    ///
    /// - Throws: ``PostgresError``; when its outcome is in doubt, jobs with unique keys may be enqueued again safely.
    ///   ``JobQueueError`` naming the arguments where the server does not take them for JSON.
    @discardableResult
    package func enqueue(_ jobs: [NewJob], in pool: Pool) async throws -> [EnqueuedJob] {
        let queues = Set(jobs.filter { $0.runAt == nil }.map(\.queue))
        // One statement needs no transaction around it.
        let isOneStatement = jobs.allSatisfy { $0.uniqueKey == nil }
        return try await pool.withConnection { connection in
            // The first of a burst says so with its commit: a worker that sleeps hears of it a round trip sooner.
            if jobs.count == 1, jobs[0].isPlain, let waker, waker.takeTurn() {
                defer { waker.endTurn() }
                do {
                    return [try enqueueAndNotify(jobs[0], on: connection)]
                } catch {
                    // The commit may have come through.
                    waker.keep(queues)
                    throw error
                }
            }
            let enqueued =
                isOneStatement
                ? try self.enqueue(jobs, on: connection)
                : try await connection.transaction { connection in try self.enqueue(jobs, on: connection) }
            // In the same lease, as each change of threads costs as much as a statement. The jobs are there, whatever
            // becomes of the hint: polling finds them.
            try? wake(queues, on: connection)
            return enqueued
        }
    }

    /// Tells workers that jobs of these queues may have come.
    ///
    /// Call it after commit; a call too many does no harm.
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

    /// Tells workers so over a connection that the caller holds already; what a ``waker`` keeps for later is not sent
    /// now.
    ///
    /// Call it after commit; inside a transaction it does what ``wakeAtCommit(_:on:)`` does.
    package func wake(_ queues: Set<String>, on connection: isolated Connection) throws {
        // Workers told before the commit would look too soon, and the commit of the caller must not go unflushed.
        guard !connection.isInTransaction else { return try wakeAtCommit(queues, on: connection) }
        let due = waker?.signal(queues) ?? queues
        guard !due.isEmpty else { return }
        do {
            try notifyUnflushed(due, on: connection)
        } catch {
            // Such as that the task was cancelled after its jobs were in.
            waker?.keep(due)
            throw error
        }
    }

    /// Tells workers so with the commit of the caller's transaction.
    ///
    /// For those who enqueue rarely, such as operators: the notification's lock makes all such commits queue up.
    package func wakeAtCommit(_ queues: Set<String>, on connection: isolated Connection) throws {
        if !queues.isEmpty { try notify(queues, on: connection) }
    }

    /// Notifies in a transaction of its own, or of the caller's.
    func notify(_ notes: Set<String>, on connection: isolated Connection) throws {
        try connection.execute(
            "select pg_notify(\(tables.channel), note) from unnest(\(notes.sorted())::text[]) as note"
        )
    }

    /// Notifies in a transaction of its own, which is not flushed.
    ///
    /// A hint that a crash swallows is made good by polling, and the flush would hold the lock of all notifications.
    func notifyUnflushed(_ notes: Set<String>, on connection: isolated Connection) throws {
        try connection.execute(
            """
            select pg_notify(\(tables.channel), note), set_config('synchronous_commit', 'off', true)
            from unnest(\(notes.sorted())::text[]) as note
            """
        )
    }
}
