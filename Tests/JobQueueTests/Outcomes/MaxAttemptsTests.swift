import JobQueue
import Postgres
import TestSupport
import Testing

/// How many attempts a job has: as many as its kind says, or as the job itself says.
@Suite(.timeLimit(.minutes(5))) struct MaxAttemptsTests {
    private static let kind = JobKind<Note>("test.tried", retry: .exponential(attempts: 3, base: .milliseconds(1)))

    private func registry(_ harness: JobHarness) throws -> JobRegistry {
        try JobRegistry(Self.kind) { _, context in
            try await harness.effect(context)
            return .retry(after: .zero, reason: "no answer")
        }
    }

    @Test(arguments: [1, 5] as [Int16]) func aJobSaysForItself(_ attempts: Int16) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note(), maxAttempts: attempts)])
            try await harness.withWorker(try registry(harness)) {
                try await harness.until { try await harness.finished("discarded") == 1 }
            }
            #expect(try await harness.effects() == attempts)
        }
    }

    /// A job with no attempt left can appear when a worker handed it back without recording its last attempt.
    @Test(arguments: [nil, 5] as [Int16?]) func whatUsedUpItsAttemptsDoesNotBegin(_ attempts: Int16?) async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([Self.kind.job(Note(), maxAttempts: attempts)])[0].id
            try await harness.execute("update accountctl.jobs set attempt = \(attempts ?? 3)")
            try await harness.worker(try registry(harness)).runUntilIdle()
            #expect(try await harness.effects() == 0)
            let record = try #require(try await harness.show(id)).record
            #expect(record.state == .discarded)
            #expect(record.reason == "its attempts are used up")
        }
    }
}
