import JobQueue
import Logging
import Postgres
import TestSupport

extension JobRegistry {
    /// A worker with these handlers.
    func worker(
        in pool: Pool,
        logger: Logger = .silent,
        _ change: (inout WorkerConfiguration) -> Void = { _ in }
    ) throws -> Worker {
        var configuration = WorkerConfiguration(name: "test")
        change(&configuration)
        return try Worker(
            queue: JobQueue(),
            pool: pool,
            listener: nil,
            registry: self,
            configuration: configuration,
            logger: logger
        )
    }

    /// Runs all due jobs with these handlers, as a worker does, until none is due.
    func work(in pool: Pool, logger: Logger = .silent) async throws {
        try await worker(in: pool, logger: logger).runUntilIdle()
    }
}
