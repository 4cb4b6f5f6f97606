import Postgres
import Testing

@testable import JobQueue

/// What operators do reaches a worker at once, by a notification.
@Suite(.timeLimit(.minutes(5))) struct ToldAtOnceTests {
    private static let kind = JobKind<Note>("test.plain")

    /// Runs a listening worker beside `body`, once it has begun a first job.
    ///
    /// Its handlers record their effect, and with `isLong` run until they are stopped.
    private func withWorker(
        _ harness: JobHarness,
        isLong: Bool = false,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let registry = try JobRegistry(Self.kind) { _, context in
            try await harness.effect(context)
            if isLong { try await Task.sleep(for: .seconds(3600)) }
            return .completed()
        }
        try await harness.withListeningWorker(registry) {
            // Meanwhile the worker sends the heartbeat that follows its listener's connection.
            try await harness.enqueue([Self.kind.job(Note())])
            try await harness.until { try await harness.effects() == 1 }
            try await body()
        }
    }

    @Test func aCancelReachesARunningJob() async throws {
        try await JobHarness.with { harness in
            try await withWorker(harness, isLong: true) {
                let result = try await harness.pool.withConnection { connection in
                    let id = try connection.one("select id from accountctl.jobs", as: Int64.self)
                    return try harness.queue.cancel(id, reason: "test", on: connection)
                }
                #expect(result == .requested)
                try await harness.until { try await harness.finished("cancelled") == 1 }
            }
        }
    }

    @Test func aResumedQueueGoesOn() async throws {
        try await JobHarness.with { harness in
            try await withWorker(harness) {
                try await harness.until { try await harness.unfinished() == 0 }
                try await harness.pool.withConnection { connection in
                    _ = try harness.queue.pause(queue: "default", reason: "test", on: connection)
                    // Nobody is told of this job.
                    try harness.queue.enqueue([Self.kind.job(Note())], on: connection)
                    #expect(try harness.queue.resume(queue: "default", on: connection))
                }
                try await harness.until { try await harness.effects() == 2 }
            }
        }
    }

    /// Until the worker knows of the rate, it leaves the queue alone.
    @Test func aQueueWithANewRateGoesOn() async throws {
        try await JobHarness.with { harness in
            try await withWorker(harness) {
                try await harness.until { try await harness.unfinished() == 0 }
                try await harness.pool.withConnection { connection in
                    _ = try harness.queue.limitRate(queue: "default", to: (100, .seconds(1)), on: connection)
                    try harness.queue.enqueue([Self.kind.job(Note())], on: connection)
                }
                try await harness.until { try await harness.effects() == 2 }
            }
        }
    }
}
