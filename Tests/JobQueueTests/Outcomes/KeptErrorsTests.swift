import Foundation
import TestSupport
import Testing

@testable import JobQueue

/// Errors are kept with their job, up to a limit.
@Suite(.timeLimit(.minutes(5))) struct KeptErrorsTests {
    private struct Kept: Codable, Equatable {
        let attempt: Int
        let error: String
    }

    /// The last ten are kept: the errors that were retried, and the one that was not.
    @Test func theLastTenErrorsAreKept() async throws {
        let kind = JobKind<Note>("test.plain", retry: .exponential(attempts: 12, base: .milliseconds(1)))
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, context in
                .retry(after: .zero, reason: "failure \(context.attempt)")
            }
            let id = try await harness.enqueue([kind.job(Note())])[0].id
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.finished("discarded") == 1 }
            }
            let errors = try #require(try await harness.show(id)?.errors).decode(as: [Kept].self)
            #expect(errors == (3...12).map { Kept(attempt: $0, error: "failure \($0)") })
        }
    }
}
