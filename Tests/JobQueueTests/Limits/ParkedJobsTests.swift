import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Parked jobs become available in batches: no statement takes all of them, however many there are.
@Suite(.timeLimit(.minutes(5))) struct ParkedJobsTests {
    private static let kind = JobKind<Note>("test.plain")
    private static let lanes = JobHarness.plainLanes

    private func park(
        _ count: Int,
        for reason: String,
        key: String? = nil,
        queue: String = "default",
        _ harness: JobHarness
    ) async throws {
        try await harness.execute(
            """
            insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
            select \(queue), 'test.plain', 'parked', \(reason), \(key)
            from generate_series(1, \(count))
            """
        )
    }

    private func parked(_ harness: JobHarness) async throws -> Int {
        try await harness.count("select count(*) from accountctl.jobs where state = 'parked'")
    }

    /// Parked jobs of a kind that no worker knows any more count as late, since nothing will make them available.
    @Test(arguments: [false, true]) func whatNobodyLetsGoOnIsLate(isKnown: Bool) async throws {
        try await JobHarness.with { harness in
            try await park(1, for: "limit", key: "k", harness)
            try await harness.execute("update accountctl.jobs set run_at = now() - interval '1 hour'")
            let lane = Lane(queue: "default", kind: isKnown ? "test.plain" : "test.other", timeout: .seconds(60))
            let (oldest, late) = try await harness.pool.withConnection { connection in
                _ = try harness.queue.addWorker([lane], on: connection)
                return (
                    try harness.queue.figures(on: connection).oldestReady["default"],
                    try harness.queue.lateKinds(waiting: 3599, on: connection)
                )
            }
            #expect((oldest ?? 0 > 3599) == !isKnown)
            #expect(late.map(\.kind) == (isKnown ? [] : ["test.plain"]))
            #expect(late.flatMap(\.servedQueues).isEmpty)
        }
    }

    @Test func oneStatementTakesSoMany() async throws {
        try await JobHarness.with { harness in
            let (queue, lanes, most) = (harness.queue, Self.lanes, JobQueue.unparkedAtOnce)
            for (reason, key) in [("limit", "k"), ("newer", nil), ("undecodable", nil)] {
                try await park(most + 7, for: reason, key: key, harness)
                // Some jobs were ready before; those that are set aside once more have a later time.
                let since = Date()
                let take = { @Sendable in
                    try await harness.pool.withConnection { connection in
                        switch reason {
                        case "limit": try queue.unparkUnlimited(lanes, on: connection)
                        case "newer": try queue.retryNewer(lanes, since: since, on: connection)
                        default: try queue.retryUndecodable(lanes, since: since, on: connection)
                        }
                    }
                }
                #expect(try await take() == most, "\(reason)")
                if reason != "limit" {
                    try await harness.execute(
                        "update accountctl.jobs set state = 'parked', parked_for = \(reason) where state = 'available'"
                    )
                }
                #expect(try await take() == 7, "\(reason)")
                #expect(try await take() == 0, "\(reason)")
                try await harness.execute("delete from accountctl.jobs")
            }
        }
    }

    /// The worker takes all batches at once, not one per round: undecodable jobs have only one round.
    @Test func aWorkerTakesAllOfThem() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            for reason in ["newer", "undecodable"] { try await park(JobQueue.unparkedAtOnce + 7, for: reason, harness) }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(600) }) {
                try await harness.until { try await parked(harness) == 0 }
            }
        }
    }

    /// After a limit is widened a claim unparks no more jobs than it wants, and the next claims take the rest.
    @Test func aClaimLetsOnWhatItWants() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await park(250, for: "limit", key: "k", harness)
            let worker = try await harness.pool.withConnection { connection in
                try queue.addWorker(
                    Self.lanes,
                    limits: [.init(kind: "test.plain", running: nil, runningPerKey: 100_000)],
                    on: connection
                )
            }
            var bounds = LimitedBounds(fullScanInterval: .seconds(3600))
            var taken: [Int64] = []
            for _ in 0..<25 {
                let known = bounds.bounds(now: .now)
                var request = JobQueue.ClaimRequest(worker: worker, limit: 10, bounds: known)
                request.waiting = bounds.waiting
                let claim = try await harness.pool.withConnection { [request] connection in
                    try await queue.claimLimited(Self.lanes, request, on: connection)
                }
                bounds.claimed(claim, wasBounded: known != nil, now: .now, endedAt: .now)
                if taken.isEmpty { #expect(try await parked(harness) == 150) }
                taken += claim.jobs.map(\.id)
            }
            #expect(taken.count == 250)
            #expect(Set(taken).count == 250)
        }
    }

    /// Parked jobs of another queue come first: the claim reports that it was cut.
    @Test func aClaimThatLeftSomeParkedIsCut() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await park(150, for: "limit", key: "k", queue: "others", harness)
            try await park(1, for: "limit", key: "k", harness)
            let worker = try await harness.pool.withConnection { connection in
                try queue.addWorker(
                    Self.lanes,
                    limits: [.init(kind: "test.plain", running: nil, runningPerKey: 100_000)],
                    on: connection
                )
            }
            for count in [0, 1] {
                let claim = try await harness.pool.withConnection { connection in
                    try await queue.claimLimited(Self.lanes, .init(worker: worker, limit: 10), on: connection)
                }
                #expect(claim.jobs.count == count)
                #expect(claim.isCut == (count == 0))
            }
        }
    }
}
