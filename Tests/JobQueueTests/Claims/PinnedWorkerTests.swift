import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A worker behind an old snapshot remembers where its claims ended, and begins the next ones there.
@Suite(.timeLimit(.minutes(5))) struct PinnedWorkerTests {
    private static let kind = JobKind<Note>("test.plain")

    /// The entries of the claim index that a worker reads while it runs 4,000 waiting jobs, or 100 that come one by
    /// one.
    private func entriesRead(
        _ harness: JobHarness,
        fullScanInterval: Duration = .seconds(3600),
        noticeable: Duration = .milliseconds(5),
        keepsUp: Bool = false
    ) async throws -> Int {
        let read: Statement = "select pg_stat_get_tuples_returned('accountctl.jobs_claim'::regclass)"
        let before = try await harness.count(read)
        let settings = JobQueue.controlSettings.merging(["application_name": "pinned"]) { $1 }
        try await harness.database.withPool(maximumConnections: 6, sessionSettings: settings) { pool in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            let worker = try harness.worker(registry, in: pool) {
                // Without polls, each of which would walk over all dead rows, as a look at a table without jobs should.
                $0.pollInterval = .seconds(3600)
            }
            try await harness.withWorker(worker) {
                try await harness.until { worker.core.withLock { $0.worker } != nil }
                // Usually without the full scan of each second, whose cost is not tested here.
                worker.core.withLock {
                    $0.bounds = ClaimBounds(fullScanInterval: fullScanInterval, noticeable: noticeable)
                }
                // The jobs of one statement have the same ready time, and so one bound: they are enqueued by many
                // statements.
                for _ in 0..<(keepsUp ? 100 : 40) {
                    try await harness.enqueue(try (0..<(keepsUp ? 1 : 100)).map { _ in try Self.kind.job(Note()) })
                    guard keepsUp else { continue }
                    worker.wake()
                    try await harness.until { try await harness.unfinished() == 0 }
                }
                worker.wake()
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
        // A session reports its counters by its end at the latest.
        try await harness.until {
            try await harness.count("select count(*) from pg_stat_activity where application_name = 'pinned'") == 0
        }
        return try await harness.count(read) - before
    }

    /// A worker reads less than half of what one reads whose every claim is a full scan.
    @Test func aWorkersClaimsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { _ in
                let far = try await entriesRead(harness, fullScanInterval: .zero)
                // The second worker also has the dead rows of the first in its way.
                let near = try await entriesRead(harness)
                #expect(near * 2 < far, "with bounds a worker read \(near) entries, without \(far)")
            }
        }
    }

    /// A worker that keeps up claims once for each job, and finds no more than that job.
    @Test func aWorkerThatKeepsUpWalksOverTheDeadOnce() async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { _ in
                _ = try await entriesRead(harness)
                let far = try await entriesRead(harness, noticeable: .seconds(3600), keepsUp: true)
                let near = try await entriesRead(harness, noticeable: .zero, keepsUp: true)
                #expect(near * 10 < far, "from where it ended a worker read \(near) entries, from the start \(far)")
            }
        }
    }
}
