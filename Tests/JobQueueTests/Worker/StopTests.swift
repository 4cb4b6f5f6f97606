import Postgres
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Stopping a worker in the process of the test, which holds what the worker waits for.
@Suite(.timeLimit(.minutes(5))) struct StopTests {
    /// A worker with nothing to write does not wait for the answer to its claim, which still waits for a connection.
    @Test func aWorkerThatHoldsNothingStopsWithoutTheDatabase() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            try await harness.database.withPool(
                maximumConnections: 1,
                sessionSettings: JobQueue.controlSettings
            ) { control in
                let worker = try harness.worker(registry, control: control) {
                    $0.leaseLifetime = .seconds(3600)
                    $0.shutdownGrace = .seconds(3600)
                }
                let services = services(worker, harness)
                let hasEnded = Mutex(false)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { @Sendable in
                        try await services.run()
                        hasEnded.withLock { $0 = true }
                    }
                    // The worker has begun, and has nothing left to write.
                    try await harness.enqueue([JobHarness.plain.job(Note())])
                    try await harness.until { try await harness.finished("completed") == 1 }
                    try await control.withConnection { _ in
                        worker.wake()
                        // The claim gets no answer: the only connection is held here.
                        try await harness.until { worker.isClaiming }
                        await services.triggerGracefulShutdown()
                        // The claim would wait twice as long for its connection.
                        try await eventually("the worker ends", within: .seconds(60)) { hasEnded.withLock { $0 } }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    private func services(_ worker: Worker, _ harness: JobHarness) -> ServiceGroup {
        ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [ServiceGroupConfiguration.ServiceConfiguration(service: worker)],
                logger: harness.logger
            )
        )
    }

    /// A worker that waits for its last job says at once that it stops, and not with the heartbeat that is due long
    /// after.
    @Test func aWorkerThatWaitsForItsLastJobIsShownAsStopping() async throws {
        try await JobHarness.with { harness in
            let stopping: Statement = "select count(*) from accountctl.worker_status where status = 'stopping'"
            let registry = try JobRegistry(JobHarness.plain) { _, context in
                try await harness.effect(context)
                try await harness.until { try await harness.count(stopping) == 1 }
                return .completed()
            }
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let worker = try harness.worker(registry) {
                $0.leaseLifetime = .seconds(3600)
                $0.shutdownGrace = .seconds(3600)
            }
            let services = services(worker, harness)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await services.run() }
                try await harness.until { try await harness.effects() == 1 }
                #expect(try await harness.count(stopping) == 0)
                await services.triggerGracefulShutdown()
                try await group.waitForAll()
            }
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// A worker that is stopped between its registration and its first job deregisters, so that others do not count it.
    @Test func aWorkerThatCannotBeginSaysGoodbye() async throws {
        try await JobHarness.with { harness in
            let kind = JobKind<Note>("test.limited", limits: .init(running: 1))
            let registry = try JobRegistry(kind) { _, _ in .completed() }
            let worker = try harness.worker(registry)
            try await harness.database.withConnection { other in
                try await other.transaction { other in
                    // The worker writes its limits before it begins.
                    try other.execute("lock table accountctl.job_limits in exclusive mode")
                    let run = Task { try await worker.run() }
                    try await harness.database.waitUntilBlocked(sessions: 1)
                    run.cancel()
                    await #expect(throws: (any Error).self) { try await run.value }
                }
            }
            let stops: Statement = "select count(*) from accountctl.workers where stop_reason = 'shutdown'"
            #expect(try await harness.count(stops) == 1)
            #expect(try await harness.count("select count(*) from accountctl.workers") == 1)
        }
    }
}
