import JobQueue
import Postgres
import Synchronization
import Testing

/// Handlers that stop neither at their deadline nor when they lose their job.
@Suite(.timeLimit(.minutes(5))) struct StuckHandlerTests {
    /// Nothing in the process can end stuck handlers: the worker ends with an error, and makes room for a new process.
    @Test func aWorkerWithoutASlotThatEverComesFreeEnds() async throws {
        try await JobHarness.with { harness in
            let gate = Gate()
            defer { gate.open() }
            let ids = try await harness.enqueue([Self.kind.job(Note()), Self.kind.job(Note())]).map(\.id)
            let stuck = try harness.worker(try registry(gate)) { configuration in
                configuration.slots = 2
                configuration.leaseLifetime = .seconds(1)
                configuration.overdueGrace = .zero
            }
            let error = await #expect(throws: JobQueueError.self) { try await stuck.run() }
            #expect(error?.code == .handlersStuck)
            // The next worker runs the jobs.
            gate.open()
            try await harness.execute("update accountctl.jobs set run_at = now()")
            try await harness.worker(try registry(gate)).runUntilIdle()
            for id in ids { #expect(try await harness.show(id)?.record.state == .completed) }
            #expect(gate.begun == 4)
        }
    }

    /// A worker goes on working while it has one slot left.
    @Test func aWorkerWithASlotGoesOn() async throws {
        try await withAHandlerThatLostItsJob { harness in
            try await harness.enqueue([WorkerTests.plain.job(Note())])
        }
    }

    /// A suspect must not wait for a handler that goes on without its job.
    @Test func aSuspectDoesNotWaitForAHandlerThatLostItsJob() async throws {
        try await withAHandlerThatLostItsJob { harness in
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, crashes, args)
                values (\(WorkerTests.plain.queue), \(WorkerTests.plain.name), 1, '{"text": ""}')
                """
            )
        }
    }

    /// Has a worker of two slots run one more job while one of its handlers goes on without its job.
    private func withAHandlerThatLostItsJob(
        _ addOneMore: @escaping @Sendable (JobHarness) async throws -> Void
    ) async throws {
        try await JobHarness.with { harness in
            let gate = Gate()
            defer { gate.open() }
            var registry = try registry(gate)
            try registry.register(WorkerTests.plain) { _, _ in .completed() }
            try await harness.enqueue([Self.kind.job(Note(), priority: 0)])
            try await harness.withWorker(registry) { configuration in
                configuration.slots = 2
                configuration.leaseLifetime = .seconds(8)
                configuration.overdueGrace = .zero
            } _: {
                // Waits until the retry is scheduled for later: a second attempt would take the other slot.
                let taken: Statement = "select count(*) from accountctl.jobs where run_at > now()"
                try await harness.until { try await harness.count(taken) == 1 }
                try await addOneMore(harness)
                try await harness.until { try await harness.finished("completed") == 1 }
                gate.open()
            }
        }
    }

    private static let kind = JobKind<Note>(
        "test.stuck",
        retry: .exponential(attempts: 9, base: .seconds(3600)),
        timeout: .milliseconds(50)
    )

    private func registry(_ gate: Gate) throws -> JobRegistry {
        try JobRegistry(Self.kind) { _, _ in
            await gate.pass()
            return .completed()
        }
    }

    /// Holds handlers, whether they are cancelled or not, until it is opened.
    private final class Gate: Sendable {
        private let end: AsyncStream<Never>.Continuation
        private let opened: Task<Void, Never>
        private let count = Mutex(0)

        init() {
            let (stream, end) = AsyncStream.makeStream(of: Never.self)
            self.end = end
            opened = Task { for await _ in stream {} }
        }

        var begun: Int { count.withLock { $0 } }

        func open() { end.finish() }

        func pass() async {
            count.withLock { $0 += 1 }
            await opened.value
        }
    }
}
