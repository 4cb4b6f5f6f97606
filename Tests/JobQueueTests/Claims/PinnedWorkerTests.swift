import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A worker behind an old snapshot remembers where its claims ended.
@Suite(.timeLimit(.minutes(5))) struct PinnedWorkerTests {
    private static let kind = JobKind<Note>("test.plain")

    /// What a worker reads of the claim index while it runs 4,000 jobs that wait for it, or 100 that come one by one.
    private func entriesRead(
        _ harness: JobHarness,
        remembersBounds: Bool = true,
        noticeable: Duration = .milliseconds(5),
        keepsUp: Bool = false
    ) async throws -> Int {
        let read: Statement = "select pg_stat_get_tuples_returned('accountctl.jobs_claim'::regclass)"
        let before = try await harness.count(read)
        let settings = JobQueue.controlSettings.merging(["application_name": "pinned"]) { $1 }
        try await harness.database.withPool(maximumConnections: 6, sessionSettings: settings) { pool in
            var registry = JobRegistry()
            try registry.register(Self.kind) { _, _ in .completed() }
            let worker = try harness.worker(registry, in: pool) {
                $0.remembersBounds = remembersBounds
                // A look at a table without work walks over everything, as it should.
                $0.pollInterval = .seconds(3600)
            }
            try await harness.withWorker(worker) {
                try await harness.until { worker.core.withLock { $0.worker } != nil }
                // Without the full scan of each second, whose cost is not the point here.
                worker.core.withLock {
                    $0.bounds = ClaimBounds(fullScanInterval: .seconds(3600), noticeable: noticeable)
                }
                // Those of one statement are ready at one moment, and have one bound.
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
        // A session tells what it read when it ends at the latest.
        try await harness.until {
            try await harness.count("select count(*) from pg_stat_activity where application_name = 'pinned'") == 0
        }
        return try await harness.count(read) - before
    }

    /// Unless it is told not to.
    @Test func aWorkersClaimsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { _ in
                let far = try await entriesRead(harness, remembersBounds: false)
                // With the dead rows of the first in its way besides.
                let near = try await entriesRead(harness, remembersBounds: true)
                #expect(near * 2 < far, "with bounds a worker read \(near) entries, without \(far)")
            }
        }
    }

    /// One that keeps up claims for each job, and finds no more than that.
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
