import Postgres
import Testing

@testable import JobQueue

/// The statements of a worker, run by hand and one at a time.
extension JobHarness {
    static let plain = JobKind<Note>("test.plain")
    static let plainLanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]

    func host(lifetime: Duration = .seconds(60)) async throws -> Int64 {
        try await pool.withConnection { connection in
            try queue.addWorker(Self.plainLanes, lifetime: lifetime, on: connection)
        }
    }

    func claim(_ worker: Int64, _ limit: Int = 1) async throws -> [ClaimedJob] {
        try await pool.withConnection { connection in
            try queue.claim(Self.plainLanes, .init(worker: worker, limit: limit), on: connection)
        }
    }

    /// Sends a heartbeat of a worker that holds these jobs.
    func beat(
        _ worker: Int64,
        _ jobs: [ClaimedJob],
        releasesUpTo: Int64? = nil,
        on connection: isolated Connection
    ) throws -> JobQueue.BeatAnswer? {
        try queue.beat(
            .init(
                worker: worker,
                lifetime: .seconds(60),
                jobs: jobs.map(\.leased),
                isStopping: false,
                releasesUpTo: releasesUpTo
            ),
            on: connection
        )
    }

    /// Lets a worker's lease expire, without a rescue.
    func expire(_ worker: Int64) async throws {
        try await execute(
            "update accountctl.workers set expires_at = now() - interval '1 second' where id = \(worker)"
        )
    }

    /// Enqueues jobs, and claims them for a worker.
    func claimed(_ count: Int) async throws -> (worker: Int64, jobs: [ClaimedJob]) {
        try await enqueue(try (0..<count).map { _ in try Self.plain.job(Note()) })
        let worker = try await host()
        return (worker, try await claim(worker, count))
    }

    /// Enqueues a job, and claims it for a worker.
    func claimed() async throws -> (worker: Int64, job: ClaimedJob) {
        let (worker, jobs) = try await claimed(1)
        return (worker, try #require(jobs.first))
    }

    /// Claims a job for a worker and lets the worker's lease expire.
    func lateClaim() async throws -> (worker: Int64, job: ClaimedJob) {
        let (worker, job) = try await claimed()
        try await expire(worker)
        return (worker, job)
    }

    func finish(_ job: ClaimedJob) async throws -> Bool {
        try await pool.withConnection { connection in try finish(job, on: connection) }
    }

    func finish(_ job: ClaimedJob, on connection: isolated Connection) throws -> Bool {
        try queue.finish(.init(outcome: .completed, jobs: [job.leased]), on: connection).contains(job.leased)
    }

    func write(_ jobs: [FinishedJob]) async throws -> Settlement.Written {
        let progress = ExchangeProgress()
        try await pool.withConnection { connection in
            try Settlement(queue: queue).write(jobs, progress, on: connection)
        }
        return progress.written
    }

    func rescue() async throws -> Int {
        try await pool.withConnection { connection in try queue.rescue(on: connection).jobs }
    }
}
