import Postgres
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A worker that is told to stop, in the process of the test, which holds what the worker waits for.
@Suite(.timeLimit(.minutes(5))) struct StopTests {
    /// Whoever has nothing to write waits for no answer: its claim waits for a connection all the while.
    @Test func aWorkerThatHoldsNothingStopsWithoutTheDatabase() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            let fixed = registry
            try await harness.database.withPool(
                maximumConnections: 1,
                sessionSettings: JobQueue.controlSettings
            ) { control in
                let worker = try harness.worker(fixed, control: control) {
                    $0.leaseLifetime = .seconds(3600)
                    $0.shutdownGrace = .seconds(3600)
                }
                let services = ServiceGroup(
                    configuration: ServiceGroupConfiguration(
                        services: [ServiceGroupConfiguration.ServiceConfiguration(service: worker)],
                        logger: harness.logger
                    )
                )
                let hasEnded = Mutex(false)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await services.run()
                        hasEnded.withLock { $0 = true }
                    }
                    // It has begun, and has nothing left to write.
                    try await harness.enqueue([JobHarness.plain.job(Note())])
                    try await harness.until { try await harness.finished("completed") == 1 }
                    try await control.withConnection { _ in
                        worker.wake()
                        // No answer can come: the only connection is held here.
                        try await harness.until { worker.isClaiming }
                        await services.triggerGracefulShutdown()
                        // The claim would wait for its connection for twice as long.
                        try await eventually("the worker ends", within: .seconds(60)) { hasEnded.withLock { $0 } }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
}
