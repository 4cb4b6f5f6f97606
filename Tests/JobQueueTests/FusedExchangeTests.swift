import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Outcomes and the next claim in one statement.
@Suite(.timeLimit(.minutes(5))) struct FusedExchangeTests {
    /// One retry among them does not cost the others the statement that they share with the next claim.
    @Test func whatCompletedIsExchangedThoughOthersAreRetried() async throws {
        try await JobHarness.with { harness in
            let worker = try harness.worker(JobRegistry())
            try await harness.enqueue(try (0..<3).map { _ in try JobHarness.plain.job(Note()) })
            let id = try await harness.host()
            let held = try await harness.claim(id, 2)
            let now = ContinuousClock.now
            let exchange = Worker.Exchange(
                batch: [
                    FinishedJob(job: held[0], verdict: .end(.completed)),
                    FinishedJob(job: held[1], verdict: .giveBack(.init(wait: .seconds(9)))),
                ],
                limit: 1,
                scope: .all,
                request: .init(worker: id, limit: 1),
                limitedBounds: nil,
                number: worker.core.withLock { $0.book.claimSent() },
                generation: 0,
                plainGoesFirst: false,
                sentAt: now
            )
            let progress = ExchangeProgress()
            try await harness.pool.withConnection { connection in
                try await worker.carryOut(exchange, JobHarness.plainLanes, [], progress, on: connection)
            }
            #expect(progress.written.landed == Set(held.map(\.leased)))
            #expect(progress.claims.plain?.jobs.count == 1)
            // One transaction wrote both rows.
            let together: Statement = """
                select count(*)
                from accountctl.jobs as claimed
                join accountctl.job_history as ended on ended.xmin = claimed.xmin
                where claimed.state = 'running'
                """
            #expect(try await harness.count(together) == 1)
        }
    }
}
