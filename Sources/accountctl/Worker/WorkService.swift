import JobQueue
import ServiceLifecycle

/// The worker as a service that may end by itself.
struct WorkService: Service {
    let worker: Worker
    let endsWhenIdle: Bool

    func run() async throws {
        if endsWhenIdle {
            try await worker.runUntilIdle()
        } else {
            try await worker.run()
        }
    }
}
