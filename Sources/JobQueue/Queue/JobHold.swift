package import Logging
package import Postgres
import Synchronization

/// One job that somebody works on by hand.
///
/// It is held as a worker holds one: running, under a lease that heartbeats keep. No worker takes it meanwhile; should this process die,
/// the lease ends, and one of them goes on.
package final class JobHold: Sendable {
    /// Who holds a job, and for how long at most.
    package struct Holder: Sendable {
        /// For people, such as what it is done for, the host and the process id.
        package let name: String
        /// Release of the binary.
        package let version: String
        /// How long after the last heartbeat the job is left to its holder.
        package let lifetime: Duration
        /// How long it may be held in all.
        package let longest: Duration

        package init(name: String, version: String, lifetime: Duration, longest: Duration) {
            self.name = name
            self.version = version
            self.lifetime = lifetime
            self.longest = longest
        }
    }

    private let queue: JobQueue
    private let holder: Holder
    private let worker: Int64
    private let job: Int64
    private let lease: Int64
    private let trustedUntil: Mutex<ContinuousClock.Instant>

    fileprivate init(
        _ queue: JobQueue,
        _ holder: Holder,
        worker: Int64,
        job: Int64,
        lease: Int64,
        sentAt: ContinuousClock.Instant
    ) {
        self.queue = queue
        self.holder = holder
        self.worker = worker
        self.job = job
        self.lease = lease
        trustedUntil = Mutex(sentAt.advanced(by: holder.lifetime))
    }

    /// Keeps writes out once the job was given to somebody else.
    package var fence: JobFence { JobFence(queue: queue, job: job, lease: lease) }

    /// Checks that nobody else can have the job before `duration` from now.
    ///
    /// - Throws: ``JobQueueError`` `leaseTooShort`.
    package func requireLease(outlasting duration: Duration) throws {
        guard ContinuousClock.now.advanced(by: duration) < trustedUntil.withLock({ $0 }) else {
            throw JobQueueError(.leaseTooShort, "the lease of job \(job) ends before a call of \(duration) would")
        }
    }

    /// Keeps the job while `body` works on it, and hands it back afterwards, whatever comes of it.
    ///
    /// - Throws: What `body` throws.
    package func keep<Result: Sendable>(
        pool: Pool,
        logger: Logger,
        while body: @Sendable () async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await self.beats(pool, logger) }
                defer { group.cancelAll() }
                return try await body()
            }
            await handBack(pool, logger)
            return result
        } catch {
            await handBack(pool, logger)
            throw error
        }
    }

    private func beats(_ pool: Pool, _ logger: Logger) async {
        while (try? await Task.sleep(for: holder.lifetime / 4, clock: .continuous)) != nil {
            let sentAt = ContinuousClock.now
            let beat = JobQueue.Beat(
                worker: worker,
                lifetime: holder.lifetime,
                ids: [job],
                leases: [lease],
                isStopping: false,
                releasesBefore: nil
            )
            let queue = queue
            do {
                let answer = try await pool.withConnection { try queue.beat(beat, on: $0) }
                guard answer.isKnown, answer.held.contains(lease) else {
                    trustedUntil.withLock { $0 = sentAt }
                    logger.error("the job was given to others", metadata: ["job": "\(job)"])
                    return
                }
                trustedUntil.withLock { $0 = sentAt.advanced(by: holder.lifetime) }
            } catch {
                if !Task.isCancelled {
                    logger.warning("a heartbeat failed", metadata: ["error": "\(Verdict.describe(error))"])
                }
            }
        }
    }

    private func handBack(_ pool: Pool, _ logger: Logger) async {
        let (queue, worker, job) = (queue, worker, job)
        await uncancelled {
            do {
                try await pool.withConnection { connection in
                    try queue.deregister(worker: worker, on: connection)
                    try queue.wakeAll(on: connection)
                }
            } catch {
                logger.warning(
                    "could not hand the job back; others take it when its lease ends",
                    metadata: ["job": "\(job)", "error": "\(Verdict.describe(error))"]
                )
            }
        }
    }
}

extension JobQueue {
    /// Takes the unfinished job of a unique key to work on it by hand, in the caller's transaction.
    ///
    /// - Parameters:
    ///   - key: the unique key.
    ///   - holder: who takes it.
    ///   - connection: where; in a transaction with whatever made the job no worker can be faster.
    /// - Returns: The job, to be kept by ``JobHold/keep(pool:logger:while:)``; nil when a worker runs it now, or when it is parked.
    /// - Throws: ``PostgresError``.
    package func hold(
        _ key: String,
        as holder: JobHold.Holder,
        on connection: isolated Connection
    ) throws -> JobHold? {
        let free = try connection.first(
            """
            select id
            from \(tables.jobs)
            where unique_key = \(key)
            and state in ('available', 'scheduled')
            for update
            """,
            as: Int64.self
        )
        guard let free else { return nil }
        let registration = Registration(
            name: holder.name,
            version: holder.version,
            slots: 1,
            lanes: [],
            limits: nil,
            lifetime: holder.lifetime
        )
        // As long as the server holds it, which counts from when it heard of the holder.
        let sentAt = ContinuousClock.now
        let worker = try register(registration, on: connection).id
        let lane = Lane(queue: "", kind: "", timeout: holder.longest)
        let job = try connection.one(take("array[\(free)]::bigint[]", [lane], worker: worker), as: ClaimRow.self)
        return JobHold(self, holder, worker: worker, job: job.0, lease: job.1, sentAt: sentAt)
    }

    /// Tells workers of every queue with work that there is some.
    fileprivate func wakeAll(on connection: isolated Connection) throws {
        let queues = try connection.query(
            "select distinct queue from \(tables.jobs) where state = 'available'",
            as: String.self
        )
        try notify(Set(queues), on: connection)
    }
}
