package import Logging
package import Postgres
import Synchronization

/// One job that somebody works on by hand.
///
/// It is held as a worker holds one: running, under a lease that heartbeats keep. No worker takes it meanwhile; should
/// this process die, the lease ends, and one of them goes on.
package final class JobHold: Sendable {
    /// Who holds a job, and for how long at most.
    package struct Holder: Sendable {
        /// The holder's name for people, such as what it is done for, the host and the process id.
        let name: String
        /// Release of the binary.
        let version: String
        /// How long the lease lasts after a heartbeat.
        let lifetime: Duration
        /// How long it may be held in all.
        let longest: Duration

        package init(name: String, version: String, lifetime: Duration, longest: Duration) {
            self.name = name
            self.version = version
            self.lifetime = lifetime
            self.longest = longest
        }
    }

    private let queue: JobQueue
    /// The name of the queue of the held job.
    private let queueName: String
    private let holder: Holder
    private let job: JobLease
    private let trustedUntil: Mutex<ContinuousClock.Instant>
    /// When it is handed back, whatever is still to be done.
    private let endsAt: ContinuousClock.Instant

    fileprivate init(
        _ queue: JobQueue,
        _ queueName: String,
        _ holder: Holder,
        job: JobLease,
        sentAt: ContinuousClock.Instant
    ) {
        self.queue = queue
        self.queueName = queueName
        self.holder = holder
        self.job = job
        trustedUntil = Mutex(sentAt.advanced(by: holder.lifetime))
        endsAt = sentAt.advanced(by: holder.longest)
    }

    /// Keeps writes out once the job was given to somebody else.
    package var fence: JobFence { JobFence(queue: queue, job: job) }

    /// Checks that nobody else can have the job before `duration` from now.
    ///
    /// - Throws: ``JobQueueError`` `leaseTooShort`.
    package func requireLease(outlasting duration: Duration) throws {
        guard ContinuousClock.now.advanced(by: duration) < min(endsAt, trustedUntil.withLock({ $0 })) else {
            throw JobQueueError(.leaseTooShort, "the lease of job \(job.id) ends before a call of \(duration) would")
        }
    }

    /// Keeps the job while `body` works on it, and hands it back afterwards, whatever comes of it.
    ///
    /// `body` is cancelled, and waited for, once somebody else has the job, it is cancelled, or was held for as long as it
    /// may be.
    ///
    /// - Throws: What `body` throws; ``JobQueueError`` `leaseLost`, `cancelled`.
    package func keep<Result: Sendable>(
        pool: Pool,
        logger: Logger,
        while body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        do {
            let result = try await withThrowingTaskGroup(of: Result?.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await self.beats(pool, logger)
                    return nil
                }
                defer { group.cancelAll() }
                while let ended = try await group.next() {
                    if let ended { return ended }
                }
                throw CancellationError()
            }
            await handBack(pool, logger)
            return result
        } catch {
            await handBack(pool, logger)
            throw error
        }
    }

    /// Beats until the task is cancelled.
    ///
    /// - Throws: ``JobQueueError`` when the work is to stop.
    private func beats(_ pool: Pool, _ logger: Logger) async throws(JobQueueError) {
        // Failed ones since the last that went through.
        var failed = 0
        while (try? await Task.sleep(for: holder.lifetime / 4, clock: .continuous)) != nil {
            let sentAt = ContinuousClock.now
            guard sentAt < endsAt else {
                throw JobQueueError(.leaseLost, "job \(job.id) was held by hand for as long as it may be")
            }
            let beat = JobQueue.Beat(
                worker: job.worker,
                lifetime: holder.lifetime,
                jobs: [job],
                isStopping: false,
                releasesUpTo: nil
            )
            let queue = queue
            let answer: JobQueue.BeatAnswer?
            do {
                answer = try await pool.withConnection { try queue.beat(beat, on: $0) }
            } catch {
                if !Task.isCancelled {
                    failed += 1
                    logger.warning(
                        "a heartbeat of a job held by hand failed",
                        metadata: ["job": "\(job.id)", "error": "\(Verdict.describe(error))"]
                    )
                }
                continue
            }
            // Whoever read that they fail has to read that it is over.
            if failed > 0 {
                logger.info(
                    "heartbeats of a job held by hand go through again",
                    metadata: ["job": "\(job.id)", "failed": "\(failed)"]
                )
                failed = 0
            }
            guard let answer, answer.held.contains(job) else {
                trustedUntil.withLock { $0 = sentAt }
                throw fence.lost
            }
            trustedUntil.withLock { $0 = sentAt.advanced(by: holder.lifetime) }
            if answer.cancelled.contains(job) { throw JobQueueError(.cancelled, "job \(job.id) was cancelled") }
        }
    }

    private func handBack(_ pool: Pool, _ logger: Logger) async {
        let (queue, queueName, job) = (queue, queueName, job)
        await uncancelled {
            do {
                try await pool.withConnection { connection in
                    try queue.deregister(worker: job.worker, on: connection)
                    try queue.notify([queueName], on: connection)
                }
            } catch {
                logger.warning(
                    "could not hand the job back; others take it when its lease ends",
                    metadata: ["job": "\(job.id)", "error": "\(Verdict.describe(error))"]
                )
            }
        }
    }
}

extension JobQueue {
    /// What came of taking a job by hand.
    package enum Holding: Sendable {
        case held(JobHold)
        /// Nothing of its queue is begun.
        case paused(QueueSetting)
        /// A worker runs it, or somebody else holds it: their name; nil where that is not known just now.
        case running(by: String?)
        /// It is set aside, for a reason.
        case parked(Int64, for: String?)
        /// It was to be cancelled while it ran, and its process died: a worker ends it.
        case cancelled(Int64)
        /// No unfinished job has the key.
        case absent
    }

    /// Takes the unfinished job of a unique key to work on it by hand, in the caller's transaction.
    ///
    /// - Parameters:
    ///   - key: the unique key.
    ///   - holder: who takes it.
    ///   - connection: where; in a transaction with whatever made the job no worker can be faster.
    /// - Returns: The job, to be kept by ``JobHold/keep(pool:logger:while:)``, or why it is not to be had.
    /// - Throws: ``PostgresError``.
    package func hold(
        _ key: String,
        as holder: JobHold.Holder,
        on connection: isolated Connection
    ) throws -> Holding {
        let found = try connection.first(
            """
            select id, queue, state = 'parked', parked_for, state <> 'running' and cancel_requested_at is not null
            from \(tables.jobs)
            where unique_key = \(key)
            """,
            as: (Int64, String, Bool, String?, Bool).self
        )
        guard let (id, name, isParked, reason, isCancelled) = found else { return .absent }
        if let pause = try pauses(of: [name], on: connection).first { return .paused(pause) }
        if isParked { return .parked(id, for: reason) }
        if isCancelled { return .cancelled(id) }
        // A running job is not waited for: its worker may have the row locked for as long as a step takes. A scheduled
        // one is given the present as its time, since it is available once it is handed back.
        let free = try connection.first(
            """
            update \(tables.jobs)
            set run_at = least(run_at, clock_timestamp())
            where id = \(id)
            and state in ('available', 'scheduled')
            -- Its worker may have died since, and left it to be cancelled.
            and cancel_requested_at is null
            returning id
            """,
            as: Int64.self
        )
        guard let free else { return .running(by: try runner(of: id, on: connection)) }
        let registration = Registration(
            name: holder.name,
            version: holder.version,
            slots: 1,
            lanes: [],
            lifetime: holder.lifetime
        )
        // Read before the server hears of the holder, from when it counts the lease: ours never outlasts it.
        let sentAt = ContinuousClock.now
        let worker = try register(registration, on: connection).id
        let lane = Lane(queue: "", kind: "", timeout: holder.longest)
        let row = try connection.one(take("array[\(free)]::bigint[]", [lane], worker: worker), as: ClaimRow.self)
        let job = ClaimedJob(row, of: worker).leased
        return .held(JobHold(self, name, holder, job: job, sentAt: sentAt))
    }

    /// The name of who runs a job; nil where nobody does.
    private func runner(of job: Int64, on connection: isolated Connection) throws -> String? {
        try connection.first(
            """
            select w.name
            from \(tables.jobs) j
            join \(tables.workers) w on w.id = j.worker
            where j.id = \(job)
            and j.state = 'running'
            """,
            as: String.self
        )
    }
}
