import Foundation
import Postgres
import Testing

@testable import JobQueue

/// Unfinished jobs are listed in the order in which they will run.
@Suite(.timeLimit(.minutes(5))) struct ListOrderTests {
    /// A job that waits for its time is listed by that time, however urgent it is: a limit on the list must not cut off
    /// the next job to run.
    @Test func whatWaitsForItsTimeComesByThat() async throws {
        try await JobHarness.with { harness in
            let kind = JobHarness.plain
            let ids = try await harness.enqueue([
                kind.job(Note(), runAt: .now + 7200, priority: 0), kind.job(Note(), runAt: .now + 3600, priority: 9),
                kind.job(Note(), priority: 5), kind.job(Note(), priority: 1),
            ]).map(\.id)
            let listed = try await harness.pool.withConnection { try harness.queue.list(JobFilter(), on: $0) }
            #expect(listed.map(\.id) == [ids[3], ids[2], ids[1], ids[0]])
            var filter = JobFilter()
            filter.limit = 3
            let first = try await harness.pool.withConnection { [filter] connection in
                try harness.queue.list(filter, on: connection)
            }
            #expect(first.map(\.id) == [ids[3], ids[2], ids[1]])
        }
    }
}
