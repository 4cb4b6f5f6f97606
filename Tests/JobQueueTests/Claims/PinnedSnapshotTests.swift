import Postgres
import Testing

@testable import JobQueue

/// A session that holds an old snapshot keeps all dead rows from vacuum: claims must not walk over them.
@Suite(.timeLimit(.minutes(5))) struct PinnedSnapshotTests {
    static let kind = JobKind<Note>("test.plain")
    static let lanes = JobHarness.plainLanes

    /// The number of pages that a claim reads.
    private func pages(
        _ queue: JobQueue,
        _ request: JobQueue.ClaimRequest,
        on connection: isolated Connection
    ) async throws -> Int {
        try await QueryPlan.of(queue.claimStatement(Self.lanes, request), generic: false, on: connection).buffers
    }

    @Test func claimsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.behindAnOldSnapshot { connection in
                let worker = try queue.addWorker(Self.lanes, on: connection)
                // Without the full scan of each second, whose cost is not tested here.
                var bounds = ClaimBounds(fullScanInterval: .seconds(3600))
                let hundred = try (0..<100).map { _ in try Self.kind.job(Note()) }
                for _ in 0..<3 { try queue.enqueue(hundred, on: connection) }
                for _ in 0..<200 {
                    try queue.enqueue(hundred, on: connection)
                    let known = bounds.bounds(now: .now)
                    let jobs = try queue.claim(
                        Self.lanes,
                        .init(worker: worker, limit: 100, bounds: known),
                        on: connection
                    )
                    #expect(jobs.count == 100)
                    bounds.claimed(jobs, isFull: true, wasBounded: known != nil, now: .now)
                    let ended = try queue.finish(
                        .init(outcome: .completed, jobs: jobs.map(\.leased)),
                        on: connection
                    )
                    #expect(ended.count == 100)
                }
                let known = bounds.bounds(now: .now)
                #expect(known != nil)
                let near = try await pages(
                    queue,
                    .init(worker: worker, limit: 10, bounds: known),
                    on: connection
                )
                let far = try await pages(queue, .init(worker: worker, limit: 10), on: connection)
                // The snapshot does keep the dead rows: a claim from the start reads all of them.
                #expect(near * 2 < far, "a bounded claim touched \(near) pages, one from the start \(far)")
            }
        }
    }

    /// A claim of several lanes looks at their jobs before it locks any, and still walks over the dead rows only once.
    @Test func severalLanesAreWalkedOnceBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.behindAnOldSnapshot { connection in
                let worker = try queue.addWorker(Self.lanes, on: connection)
                let request = JobQueue.ClaimRequest(worker: worker, limit: 100)
                let hundred = try (0..<100).map { _ in try Self.kind.job(Note()) }
                for _ in 0..<50 {
                    try queue.enqueue(hundred, on: connection)
                    let jobs = try queue.claim(Self.lanes, request, on: connection)
                    _ = try queue.finish(.init(outcome: .completed, jobs: jobs.map(\.leased)), on: connection)
                }
                try queue.enqueue(hundred, on: connection)
                let two = Self.lanes + [Lane(queue: "default", kind: "test.other", timeout: .seconds(60))]
                var read: [Int] = []
                for lanes in [Self.lanes, two] {
                    read.append(
                        try await harness.entries(on: connection) { _ = try queue.claim(lanes, request, on: $0) }
                    )
                }
                // The snapshot does keep the dead rows.
                #expect(read[0] > 5000, "claims of one and of two lanes read \(read) entries")
                #expect(read[1] < read[0] + 1000, "claims of one and of two lanes read \(read) entries")
            }
        }
    }

    /// A heartbeat walks over dead rows of its own worker's jobs at most, and not over those of other workers.
    @Test func heartbeatsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.behindAnOldSnapshot { connection in
                let hundred = try (0..<100).map { _ in try Self.kind.job(Note()) }
                var worker: Int64 = 0
                for _ in 0..<10 {
                    worker = try queue.addWorker(Self.lanes, on: connection)
                    for _ in 0..<5 {
                        try queue.enqueue(hundred, on: connection)
                        let jobs = try queue.claim(
                            Self.lanes,
                            .init(worker: worker, limit: 100),
                            on: connection
                        )
                        _ = try queue.finish(
                            .init(outcome: .completed, jobs: jobs.map(\.leased)),
                            on: connection
                        )
                    }
                }
                var read: [Int] = []
                for releasesUpTo in [nil, Int64(1)] {
                    let beat = JobQueue.Beat(
                        worker: worker,
                        lifetime: .seconds(600),
                        jobs: [],
                        isStopping: false,
                        releasesUpTo: releasesUpTo
                    )
                    read.append(try await harness.entries(on: connection) { _ = try queue.beat(beat, on: $0) })
                }
                #expect(read[0] < 100, "a beat read \(read) entries")
                // The look for jobs that the worker does not know of reads its own 500 dead rows: the snapshot does
                // keep them.
                #expect((500..<1000).contains(read[1] - read[0]), "a beat read \(read) entries")
            }
        }
    }
}
