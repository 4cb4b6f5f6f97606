import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5))) struct DiscardTests {
    /// Nothing else says at the time that a kind fails again and again.
    @Test func theLogSaysWhyAJobIsGivenUp() async throws {
        let kind = JobKind<Note>("test.fails", retry: .never)
        try await JobHarness.with { harness in
            let lines = LogLines()
            let registry = try JobRegistry(kind) { _, _ in .retry(reason: "no answer") }
            let ids = try await harness.enqueue([kind.job(Note())]).map(\.id)
            try await harness.withWorker(try harness.worker(registry, logger: lines.logger)) {
                let told = "warning a job was discarded job=\(ids[0]) kind=test.fails reason=no answer"
                try await harness.until { lines.all.contains(told) }
            }
            #expect(try await harness.finished("discarded") == 1)
        }
    }
}
