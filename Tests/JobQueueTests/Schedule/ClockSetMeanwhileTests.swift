import Foundation
import Postgres
import Testing

@testable import JobQueue

/// The server's clock was set since the worker's last heartbeat, by which the worker reckons the server's time.
@Suite(.timeLimit(.minutes(5))) struct ClockSetMeanwhileTests {
    /// A job waits for the instant that its handler named, by the server's clock: not an hour longer after the clock was
    /// set forward by an hour, nor after it was set back.
    @Test(arguments: [(3660, 60), (60, 3660), (60, -3600)])
    func aJobWaitsForTheSoonerOfBothClocks(_ wait: Int, _ until: Int) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let worker = try await harness.host()
            let claimed = try await harness.claim(worker)
            let job = try #require(claimed.first).leased
            let next = NextTurn(wait: .seconds(wait), until: Date(timeIntervalSinceNow: Double(until)))
            let left = try await harness.pool.withConnection { connection -> Int in
                let back = try harness.queue.giveBack([.init(job, next)], on: connection)
                #expect(back.count == 1)
                return try connection.one(
                    "select extract(epoch from run_at - clock_timestamp())::bigint from accountctl.jobs",
                    as: Int.self
                )
            }
            let longest = max(0, min(wait, until))
            #expect((longest - 30...longest).contains(left))
        }
    }
}
