import Foundation
import Postgres
import Testing

@testable import JobQueue

/// The order in which unfinished jobs are listed is that in which they come to run.
@Suite(.timeLimit(.minutes(5))) struct ListOrderTests {
    /// However urgent one is, it waits for its time: the next to come must not be cut off by a limit.
    @Test func whatWaitsForItsTimeComesByThat() async throws {
        try await JobHarness.with { harness in
            let kind = JobHarness.plain
            let ids = try await harness.enqueue([
                kind.job(Note(), runAt: .now + 7200, priority: 0), kind.job(Note(), runAt: .now + 3600, priority: 9),
                kind.job(Note(), priority: 5), kind.job(Note(), priority: 1),
            ]).map(\.id)
            let listed = try await harness.pool.withConnection { try harness.queue.list(JobFilter(), on: $0) }
            #expect(listed.map(\.id) == [ids[3], ids[2], ids[1], ids[0]])
        }
    }
}
