import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A session that holds an old snapshot keeps every dead row in the way: claims must not walk over them.
@Suite(.timeLimit(.minutes(5))) struct PinnedSnapshotTests {
    typealias Limits = JobKind<Note>.Limits

    static let kind = JobKind<Note>("test.plain")
    static let lanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]

    /// The pages that a claim of ten touches, told by running it and undoing it.
    private func pages(
        _ queue: JobQueue,
        _ request: JobQueue.ClaimRequest,
        on connection: isolated Connection
    ) async throws -> Int {
        struct Undo: Error {}
        var lines: [String] = []
        do {
            try await connection.transaction { connection in
                lines = try connection.query(
                    "explain (analyze, buffers, timing off, costs off) \(queue.claimStatement(Self.lanes, request))",
                    as: String.self
                )
                throw Undo()
            }
        } catch is Undo {}
        let line = lines.first { $0.contains("Buffers:") } ?? ""
        return line.split(whereSeparator: { $0 == " " || $0 == "=" }).compactMap { Int($0) }.reduce(0, +)
    }

    @Test func claimsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.behindAnOldSnapshot { connection in
                let worker = try queue.addWorker(Self.lanes, on: connection)
                // Without the full scan of each second, whose cost is not the point here.
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
                // The snapshot does hold the dead rows: a claim from the start meets them all.
                #expect(near * 2 < far, "a bounded claim touched \(near) pages, one from the start \(far)")
            }
        }
    }

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

    /// The same of a worker, which remembers where its claims ended unless it is told not to.
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

    /// What was ready long before and commits late is found all the same, though nothing else comes.
    @Test func aLateCommitIsFoundFromWhereverClaimsBegin() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(Self.kind) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.pollInterval = .seconds(3600) }
            try await harness.withWorker(worker) {
                try await harness.until { worker.core.withLock { $0.worker } != nil }
                // Every look at everything counts as costly.
                worker.core.withLock { $0.bounds = ClaimBounds(noticeable: .zero) }
                try await harness.enqueue([Self.kind.job(Note())])
                worker.wake()
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.enqueue([Self.kind.job(Note(), runAt: .now.addingTimeInterval(-3600))])
                worker.wake()
                try await harness.until { try await harness.finished("completed") == 2 }
            }
        }
    }

    /// A claim of several lanes looks at what they have before it locks: it walks over the dead rows once all the same.
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
                // The snapshot does hold the dead rows.
                #expect(read[0] > 5000, "claims of one and of two lanes read \(read) entries")
                #expect(read[1] < read[0] + 1000, "claims of one and of two lanes read \(read) entries")
            }
        }
    }

    /// A heartbeat walks over what its own worker ran, and not over what the others did.
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
                // To look for jobs that the worker does not know of, its own 500: the snapshot does hold the dead rows.
                #expect((500..<1000).contains(read[1] - read[0]), "a beat read \(read) entries")
            }
        }
    }

    /// Puts 20,000 jobs through two limited kinds, and compares a claim from remembered bounds with one from the start.
    private func checkLimitedClaims(
        _ limit: Limits,
        _ harness: JobHarness,
        on connection: isolated Connection
    ) async throws {
        let queue = harness.queue
        let lanes = Self.lanes + [Lane(queue: "default", kind: "test.other", timeout: .seconds(60))]
        let limits = lanes.map {
            JobQueue.KindLimit(kind: $0.kind, running: limit.running, runningPerKey: limit.runningPerKey)
        }
        let worker = try queue.addWorker(lanes, limits: limits, on: connection)
        // Without the full scan of each second, whose cost is not the point here.
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
        // The snapshot does hold the dead rows: a claim from the start meets them all.
        #expect(near * 4 < far, "a bounded claim read \(near) entries, one from the start \(far)")
    }

    /// What went through a limited kind is walked over neither to find the next job nor to count the running ones.
    @Test(arguments: [Limits(running: 100), Limits(runningPerKey: 10), Limits(running: 1000, runningPerKey: 1)])
    func claimsUnderLimitsStayCheapBehindAnOldSnapshot(_ limit: Limits) async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { try await checkLimitedClaims(limit, harness, on: $0) }
        }
    }

    /// The same behind the slot of a standby that has gone, which no session tells of.
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

    /// A job whose transaction began early and committed late lies below what was claimed since, and is found all the
    /// same.
    @Test func aLateCommitIsFound() async throws {
        let late = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(late) { note, context in
                guard note.text != "late" else {
                    try await harness.effect(context, "late")
                    return .completed()
                }
                // Each makes its successor: there is always more than the worker has slots.
                if try await harness.count("select count(*) from public.effects") == 0 {
                    try await harness.enqueue([late.job(note)])
                }
                return .completed()
            }
            let worker = try harness.worker(registry) { $0.slots = 4 }
            let inserted = AsyncStream.makeStream(of: Void.self)
            let go = AsyncStream.makeStream(of: Void.self)
            async let committed: Void = harness.database.withConnection { connection in
                try await connection.transaction { connection in
                    try harness.queue.enqueue([late.job(Note(text: "late"))], on: connection)
                    inserted.continuation.finish()
                    for await _ in go.stream {}
                }
            }
            for await _ in inserted.stream {}
            try await harness.enqueue(try (0..<60).map { _ in try late.job(Note()) })
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.finished("completed") > 200 }
                go.continuation.finish()
                try await harness.until { try await harness.effects() == 1 }
            }
            try await committed
        }
    }
}
