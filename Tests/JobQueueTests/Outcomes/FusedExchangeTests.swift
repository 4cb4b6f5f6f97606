import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Outcomes and the next claim in one statement.
@Suite(.timeLimit(.minutes(5))) struct FusedExchangeTests {
    /// A retry in the batch does not keep the completed jobs from sharing a statement with the next claim.
    @Test func whatCompletedIsExchangedThoughOthersAreRetried() async throws {
        try await JobHarness.with { harness in
            let (worker, held, exchange) = try await oneDoneAndOneRetried(of: 3, harness)
            let progress = ExchangeProgress()
            try await harness.pool.withConnection { connection in
                try await worker.carryOut(exchange, progress, on: connection)
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

    /// A retry whose row is locked keeps its slot, which the fused claim must not fill.
    @Test func whatCannotBeWrittenKeepsItsSlot() async throws {
        try await JobHarness.with { harness in
            let (worker, held, exchange) = try await oneDoneAndOneRetried(of: 4, harness)
            let progress = ExchangeProgress()
            try await harness.database.withConnection { other in
                try await other.transaction { other in
                    try other.execute("select from accountctl.jobs where id = \(held[1].id) for update")
                    try await harness.pool.withConnection { connection in
                        try await worker.carryOut(exchange, progress, on: connection)
                    }
                }
            }
            #expect(progress.written.locked == [held[1].leased])
            #expect(progress.claims.plain?.jobs.count == 1)
        }
    }

    /// Makes a worker with two of `count` jobs, and the exchange that ends the first, retries the second and claims two
    /// more.
    private func oneDoneAndOneRetried(
        of count: Int,
        _ harness: JobHarness
    ) async throws -> (Worker, [ClaimedJob], Worker.Exchange) {
        let worker = try harness.worker(JobRegistry())
        try await harness.enqueue(try (0..<count).map { _ in try JobHarness.plain.job(Note()) })
        let id = try await harness.host()
        let held = try await harness.claim(id, 2)
        let verdicts: [Verdict] = [.end(.completed), .giveBack(.init(wait: .seconds(9)))]
        let batch = zip(held, verdicts).map { FinishedJob(job: $0, verdict: $1) }
        return (worker, held, worker.madeExchange(batch, claiming: 2, as: id))
    }
}
