package import Logging
package import Postgres
import Synchronization

/// One job that somebody works on by hand, outside a worker.
///
/// The job is held as a worker would hold it: running, under a lease that heartbeats extend. No worker takes it
/// meanwhile; if this process dies, the lease expires and a worker continues the job.
package final class JobHold: Sendable {
    /// Who holds a job, and for how long at most.
    package struct Holder: Sendable {
        /// The holder's name for people, such as its purpose, the host and the process id.
        let name: String
        /// Release of the binary.
        let version: String
        /// How long the lease lasts after a heartbeat.
        let lifetime: Duration
        /// How long the job may be held in total.
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
    /// When the job is handed back, even if work remains.
    private let endsAt: ContinuousClock.Instant

    /// Creates a hold on a job that was just claimed; see ``JobQueue/hold(_:as:on:)``.
    init(
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

    /// Rejects writes once the job was given to somebody else.
    package var fence: JobFence { JobFence(queue: queue, job: job) }

    /// Checks that nobody else can have the job before `duration` from now.
    ///
    /// - Throws: ``JobQueueError`` `leaseTooShort`.
    package func requireLease(outlasting duration: Duration) throws {
        guard ContinuousClock.now.advanced(by: duration) < min(endsAt, trustedUntil.withLock({ $0 })) else {
            throw JobQueueError(.leaseTooShort, "the lease of job \(job.id) ends before a call of \(duration) would")
        }
    }

    /// Holds the job while `body` works on it, and hands it back afterwards in any case.
    ///
    /// `body` is cancelled, and awaited, once somebody else has the job, the job is cancelled, or the longest holding
    /// time is over.
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

    /// Sends heartbeats until the task is cancelled.
    ///
    /// - Throws: ``JobQueueError`` when the work has to stop.
    private func beats(_ pool: Pool, _ logger: Logger) async throws(JobQueueError) {
        // Failed heartbeats since the last successful one.
        var failed = 0
        while (try? await Task.sleep(for: holder.lifetime / 4, clock: .continuous)) != nil {
            let sentAt = ContinuousClock.now
            guard sentAt < endsAt else {
                throw JobQueueError(.leaseLost, "job \(job.id) was held by hand for the longest time allowed")
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
            // Anyone who read the warnings should also read that heartbeats work again.
            if failed > 0 {
                logger.info(
                    "heartbeats of a job held by hand succeed again",
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
