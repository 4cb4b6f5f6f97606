import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Claims under limits behind an old snapshot, or behind a replication slot.
@Suite(.timeLimit(.minutes(5))) struct PinnedLimitTests {
    typealias Limits = JobKind<Note>.Limits

    /// Runs 20,000 jobs of two limited kinds, and compares a claim from remembered bounds with one from the start.
    private func checkLimitedClaims(
        _ limit: Limits,
        _ harness: JobHarness,
        on connection: isolated Connection
    ) async throws {
        let queue = harness.queue
        let lanes = PinnedSnapshotTests.lanes + [Lane(queue: "default", kind: "test.other", timeout: .seconds(60))]
        let limits = lanes.map {
            JobQueue.KindLimit(kind: $0.kind, running: limit.running, runningPerKey: limit.runningPerKey)
        }
        let worker = try queue.addWorker(lanes, limits: limits, on: connection)
        // Without the full scan of each second, whose cost is not tested here.
        var bounds = LimitedBounds(fullScanInterval: .seconds(3600))
        let hundred = try (0..<100).map { n in
            try NewJob(
                kind: lanes[n % 2].kind,
                queue: "default",
                limitKey: limit.runningPerKey == nil ? nil : "\(n / 2 % 10)"
            )
        }
        for _ in 0..<3 { try queue.enqueue(hundred, on: connection) }
        for _ in 0..<200 {
            try queue.enqueue(hundred, on: connection)
            let known = bounds.bounds(now: .now)
            var request = JobQueue.ClaimRequest(worker: worker, limit: 100, bounds: known)
            request.waiting = bounds.waiting
            let claim = try await queue.claimLimited(lanes, request, on: connection)
            bounds.claimed(claim, wasBounded: known != nil, now: .now, endedAt: .now)
            _ = try queue.finish(.init(outcome: .completed, jobs: claim.jobs.map(\.leased)), on: connection)
        }
        var request = JobQueue.ClaimRequest(worker: worker, limit: 10, bounds: bounds.bounds(now: .now))
        request.waiting = bounds.waiting
        let bounded = request
        let near = try await harness.entries(on: connection) {
            _ = try queue.claimLimitedLocked(lanes, bounded, on: $0)
        }
        let whole = JobQueue.ClaimRequest(worker: worker, limit: 10)
        let far = try await harness.entries(on: connection) {
            _ = try queue.claimLimitedLocked(lanes, whole, on: $0)
        }
        // The snapshot does keep the dead rows: a claim from the start reads all of them.
        #expect(near * 4 < far, "a bounded claim read \(near) entries, one from the start \(far)")
    }

    /// Dead rows of a limited kind are walked over neither to find the next job nor to count the running ones.
    @Test(arguments: [Limits(running: 100), Limits(runningPerKey: 10), Limits(running: 1000, runningPerKey: 1)])
    func claimsUnderLimitsStayCheapBehindAnOldSnapshot(_ limit: Limits) async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { try await checkLimitedClaims(limit, harness, on: $0) }
        }
    }

    /// The same behind the replication slot of a standby that is gone, which no session shows.
    @Test func claimsUnderLimitsStayCheapBehindASlot() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await cluster.psql("select pg_create_physical_replication_slot('standby')")
                let settings = ["hot_standby_feedback=on", "primary_slot_name=standby"]
                try await Standby.with(of: cluster, settings: settings) { _ in
                    try await harness.until {
                        try await harness.count("select count(*) from pg_replication_slots where xmin is not null") == 1
                    }
                }
                try await harness.pool.withConnection {
                    try await checkLimitedClaims(Limits(running: 100), harness, on: $0)
                }
            }
        }
    }
}
