import JobQueue
import Logging
import Postgres
import TestSupport

extension JobRegistry {
    /// Runs what is due with these handlers, as a worker does, until nothing is.
    func work(in pool: Pool, logger: Logger = .silent) async throws {
        let worker = try Worker(
            queue: JobQueue(),
            pool: pool,
            listener: nil,
            registry: self,
            configuration: WorkerConfiguration(name: "test"),
            logger: logger
        )
        try await worker.runUntilIdle()
    }
}
