import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that wait for room under the limit of their key: claims walk over neither unparked jobs nor parked ones.
@Suite(.timeLimit(.minutes(5))) struct WaitingKeysTests {
    static let lanes = JobHarness.plainLanes

    private func register(_ harness: JobHarness, on connection: isolated Connection) throws -> Int64 {
        try harness.queue.addWorker(
            Self.lanes,
            limits: [.init(kind: "test.plain", running: nil, runningPerKey: 1)],
            on: connection
        )
    }

    /// Adds jobs of one key, or of none, each ready a millisecond after the one before.
    private func add(_ count: Int, key: String?, hours: Int, on connection: isolated Connection) throws {
        try connection.execute(
            """
            insert into accountctl.jobs (queue, kind, limit_key, run_at)
            select 'default', 'test.plain', \(key)::text,
                now() + \(hours)::int * interval '1 hour' + n * interval '1 ms'
            from generate_series(1, \(count)::int) as n
            """
        )
    }

    /// One key has had three hundred jobs and has more, whether its next one runs or not, and whether others fill the
    /// claims or not.
    @Test func whatWasLetOnIsNotWalkedBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { connection in
                let queue = harness.queue
                let worker = try register(harness, on: connection)
                var bounds = LimitedBounds(fullScanInterval: .seconds(3600))
                try add(600, key: "hot", hours: -9, on: connection)
                try add(400, key: nil, hours: -5, on: connection)
                for _ in 0..<300 {
                    let known = bounds.bounds(now: .now)
                    var request = JobQueue.ClaimRequest(worker: worker, limit: 2, bounds: known)
                    request.waiting = bounds.waiting
                    let claim = try await queue.claimLimited(Self.lanes, request, on: connection)
                    #expect(claim.jobs.count == 2)
                    bounds.claimed(claim, wasBounded: known != nil, now: .now, endedAt: .now)
                    _ = try queue.finish(.init(outcome: .completed, jobs: claim.jobs.map(\.leased)), on: connection)
                }
                var request = JobQueue.ClaimRequest(worker: worker, limit: 2, bounds: bounds.bounds(now: .now))
                request.waiting = bounds.waiting
                #expect(request.bounds != nil)
                let full = request
                request.limit = 500
                let short = request
                request.bounds = nil
                let whole = request
                for isBusy in [false, true] {
                    var read: [Int] = []
                    for request in [full, short, whole] {
                        read.append(
                            try await harness.entries(of: "jobs_parked", on: connection) { connection in
                                for request in (isBusy ? [full] : []) + [request] {
                                    // There are no suspects: the look goes on to jobs that wait for room.
                                    var suspects = request
                                    suspects.suspects = true
                                    let mayTake = try queue.mayTake(Self.lanes, suspects, on: connection)
                                    #expect(mayTake)
                                    let claim = try queue.claimLimitedLocked(Self.lanes, request, on: connection)
                                    #expect(!claim.jobs.isEmpty)
                                }
                            }
                        )
                    }
                    // The snapshot does keep the dead rows: a walk over all keys reads those of this one.
                    #expect(read[0] < 20 && read[1] < 20 && read[2] > 300, "busy \(isBusy): \(read) entries")
                }
            }
        }
    }

    /// Each turn of a claim begins behind the jobs that the turns before it parked.
    @Test func aClaimWalksOnce() async throws {
        try await JobHarness.with { harness in
            try await harness.behindAnOldSnapshot { connection in
                let queue = harness.queue
                let worker = try register(harness, on: connection)
                try add(3000, key: nil, hours: -9, on: connection)
                try connection.execute("delete from accountctl.jobs")
                try add(3000, key: "hot", hours: -5, on: connection)
                let read = try await harness.entries(of: "jobs_claim", on: connection) { connection in
                    let request = JobQueue.ClaimRequest(worker: worker, limit: 10)
                    let claim = try queue.claimLimitedLocked(Self.lanes, request, on: connection)
                    #expect(claim.isCut)
                    #expect(claim.jobs.count == 1)
                    #expect(claim.parked.count > 1500)
                }
                #expect((3000..<9000).contains(read), "\(read) entries")
            }
        }
    }

    /// Jobs that another worker parked are found by a claim that comes short, before the next full scan is due.
    @Test func whatOthersSetAsideIsFound() async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                let queue = harness.queue
                let worker = try register(harness, on: connection)
                try add(2, key: "a", hours: -9, on: connection)
                let other = try await queue.claimLimited(Self.lanes, .init(worker: worker, limit: 2), on: connection)
                #expect(other.jobs.count == 1)
                #expect(other.waiting["test.plain"]?.places.keys.map(\.text) == ["a"])
                _ = try queue.finish(.init(outcome: .completed, jobs: other.jobs.map(\.leased)), on: connection)
                let bounded = JobQueue.ClaimRequest(worker: worker, limit: 2, bounds: [:])
                #expect(try await queue.claimLimited(Self.lanes, bounded, on: connection).jobs.count == 1)
            }
        }
    }

    /// Keys that only look alike have separate limits, and none is skipped.
    @Test func keysAreComparedByteByByte() async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                let queue = harness.queue
                let worker = try register(harness, on: connection)
                let keys = ["\u{e9}", "e\u{301}", "Z", "a", "\u{10ffff}", "\u{ff5e}"]
                for key in keys { try add(3, key: key, hours: -9, on: connection) }
                var waiting: [String: WaitingKeys] = [:]
                for round in 0..<3 {
                    var request = JobQueue.ClaimRequest(worker: worker, limit: 50, bounds: round == 0 ? nil : [:])
                    // The claim knows some of the waiting keys.
                    request.waiting = waiting
                    if round == 2 { request.waiting["test.plain"]?.emptied(ExactText("e\u{301}")) }
                    let claim = try await queue.claimLimited(Self.lanes, request, on: connection)
                    waiting = claim.waiting
                    #expect(claim.jobs.count == keys.count)
                    _ = try queue.finish(.init(outcome: .completed, jobs: claim.jobs.map(\.leased)), on: connection)
                }
                #expect(try connection.one("select count(*) from accountctl.jobs", as: Int.self) == 0)
            }
        }
    }

    private static func place(_ readyAt: Int64) -> WaitingKeys.Place {
        .init(priority: 5, readyAt: readyAt, id: readyAt)
    }

    @Test func aKeyIsKnownFromItsFirstJobOn() {
        let key = ExactText("a")
        var waiting = WaitingKeys()
        waiting.unparked(key, at: Self.place(9))
        #expect(waiting.places.isEmpty)
        for readyAt in [3, 2, 7] as [Int64] { waiting.waits(key, at: Self.place(readyAt)) }
        #expect(waiting.places[key] == Self.place(2))
        waiting.unparked(key, at: Self.place(7))
        waiting.unparked(key, at: Self.place(3))
        #expect(waiting.places[key] == Self.place(7))
        for number in 0..<WaitingKeys.most { waiting.waits(ExactText("\(number)"), at: Self.place(1)) }
        #expect(waiting.places.count == WaitingKeys.most)
        waiting.emptied(key)
        #expect(waiting.places[key] == nil)
    }
}
