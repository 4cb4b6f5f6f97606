import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Outcomes behind a transaction pooler, where no session has our lock timeout: one locked row must not keep a worker
/// from all other work for as long as a statement may take.
@Suite(.timeLimit(.minutes(5))) struct PoolerLockTests {
    static let kind = JobKind<Note>("test.plain")
    static let lanes = JobHarness.plainLanes

    /// Runs `body` over the pooler with two leased jobs, the first of which another session has locked; expects it to
    /// take about a second, not the thirty that a statement may take.
    private func withALockedJob(
        _ body: @Sendable (JobHarness, [ClaimedJob], isolated Connection) async throws -> Void
    ) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<3).map { _ in try Self.kind.job(Note()) })
            let jobs = try await harness.pool.withConnection { connection in
                let worker = try harness.queue.addWorker(Self.lanes, on: connection)
                return try harness.queue.claim(Self.lanes, .init(worker: worker, limit: 2), on: connection)
            }
            #expect(jobs.count == 2)
            try await PgBouncer.with(.transaction, to: harness.database.cluster) { bouncer in
                var connection = ConnectionConfiguration(conninfo: bouncer.conninfo(database: harness.database.name))
                connection.sessionSettings = JobQueue.controlSettings
                try await Pool.withPool(PoolConfiguration(connection: connection), logger: harness.logger) { pool in
                    try await harness.pool.withTransaction { other in
                        try other.execute("select from accountctl.jobs where id = \(jobs[0].id) for share")
                        try await pool.withConnection { connection in
                            let began = ContinuousClock.now
                            try await body(harness, jobs, connection)
                            #expect(ContinuousClock.now - began < .seconds(15))
                            // The timeout does not stay on the server process, which another client uses next.
                            #expect(try connection.one("show lock_timeout", as: String.self) == "0")
                        }
                    }
                }
            }
        }
    }

    @Test(arguments: [
        Verdict.end(.completed), .end(.discarded, reason: "no use"), .release,
        .giveBack(.init(wait: .seconds(9), givesAttemptBack: true)),
        .park(reason: "undecodable", failure: .init(attempt: 1, error: "odd")),
    ]) func anOutcomeDoesNotWaitForLong(_ verdict: Verdict) async throws {
        try await withALockedJob { harness, jobs, connection in
            let progress = ExchangeProgress()
            let finished = jobs.map { FinishedJob(job: $0, verdict: verdict) }
            try Settlement(queue: harness.queue).write(finished, progress, on: connection)
            #expect(progress.written.locked == [jobs[0].leased])
            #expect(progress.written.landed == [jobs[1].leased])
        }
    }

    /// The same when the outcomes are written together with the next claim.
    @Test func anExchangeDoesNotWaitForLong() async throws {
        try await withALockedJob { harness, jobs, connection in
            do {
                _ = try harness.queue.exchange(
                    .init(outcome: .completed, jobs: jobs.map(\.leased)),
                    Self.lanes,
                    .init(worker: 1, limit: 1),
                    on: connection
                )
                Issue.record("the locked row was written")
            } catch let error as PostgresError {
                #expect(error.sqlState == .lockNotAvailable)
            }
        }
    }
}
