import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Concurrent claims, and claims of paused queues.
@Suite(.timeLimit(.minutes(5))) struct ClaimRaceTests {
    /// Eight connections claim at once: none gets a job that another has, and none gets more than it asked for.
    @Test func concurrentClaimsShareTheWork() async throws {
        try await JobHarness.with(connections: 8) { harness in
            try await harness.enqueue(try (0..<400).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            let all = try await withThrowingTaskGroup(of: [ClaimedJob].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var mine: [ClaimedJob] = []
                        while true {
                            let batch = try await harness.claim(worker, 7)
                            #expect(batch.count <= 7)
                            if batch.isEmpty { return mine }
                            mine += batch
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(all.count == 400)
            #expect(Set(all.map(\.id)).count == 400)
            #expect(Set(all.map(\.lease)).count == 400)
        }
    }

    /// A claim over several lanes locks no more jobs than it takes.
    @Test(arguments: [false, true]) func aClaimLeavesTheRestToOthers(_ isBounded: Bool) async throws {
        let kinds = (0..<10).map { JobKind<Note>("test.k\($0)") }
        let lanes = kinds.map { Lane(queue: "default", kind: $0.name, timeout: .seconds(60)) }
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<500).map { try kinds[$0 % 10].job(Note()) })
            let worker = try await harness.host()
            var bounds = ClaimBounds.Start()
            for lane in lanes { bounds.passed(.init(lane: lane.name, priority: 5), at: 1) }
            let request = JobQueue.ClaimRequest(worker: worker, limit: 50, bounds: isBounded ? bounds : nil)
            let (first, second) = try await harness.pool.withTransaction { connection in
                let first = try harness.queue.claimPlain(lanes, request, on: connection)
                return (
                    first,
                    try await harness.pool.withConnection { try harness.queue.claimPlain(lanes, request, on: $0) }
                )
            }
            for claim in [first, second] {
                #expect(claim.jobs.count == 50)
                #expect(!claim.isCut)
            }
            #expect(Set(first.jobs.map(\.id)).isDisjoint(with: second.jobs.map(\.id)))
            // Urgent jobs in one lane, which another claim takes: the second claim is cut, since the other lanes have
            // more.
            try await harness.enqueue(try (0..<50).map { _ in try kinds[0].job(Note(), priority: 1) })
            let third = try await harness.pool.withTransaction { connection in
                #expect(
                    try harness.queue.claimPlain(lanes, request, on: connection).jobs.allSatisfy { $0.priority == 1 }
                )
                return try await harness.pool.withConnection { try harness.queue.claimPlain(lanes, request, on: $0) }
            }
            #expect(third.isCut)
        }
    }

    /// A queue is paused between two jobs of a busy worker: the statement that ends one job claims no other.
    @Test func aPauseHoldsTheClaimThatComesWithAnEnd() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note()), JobHarness.plain.job(Note())])
            let worker = try await harness.host()
            let first = try await harness.claim(worker)[0]
            let exchange = { @Sendable (job: ClaimedJob) in
                try await harness.pool.withConnection { connection in
                    try harness.queue.exchange(
                        .init(outcome: .completed, jobs: [job.leased]),
                        JobHarness.plainLanes,
                        .init(worker: worker, limit: 5),
                        on: connection
                    )
                }
            }
            try await harness.pool.withConnection { connection in
                try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            let paused = try await exchange(first)
            #expect(paused.landed == [first.leased])
            #expect(paused.claimed.jobs.isEmpty)
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.resume(queue: "default", on: connection)
            }
            #expect(try await exchange(first).claimed.jobs.count == 1)
        }
    }

    /// Lanes under a limit are claimed by a statement of their own.
    @Test func aPauseHoldsLanesUnderALimit() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let worker = try await harness.host()
            let claim = { @Sendable in
                try await harness.pool.withConnection { connection in
                    try await harness.queue.claimLimited(
                        JobHarness.plainLanes,
                        .init(worker: worker, limit: 5),
                        on: connection
                    ).jobs.count
                }
            }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limit(kind: "test.plain", running: 3, runningPerKey: nil, on: connection)
                try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            #expect(try await claim() == 0)
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.resume(queue: "default", on: connection)
            }
            #expect(try await claim() == 1)
        }
    }

    /// After a claim whose reply was lost the worker's own heartbeat releases the job, and the attempt does not count.
    @Test func anUnknownClaimIsReleased() async throws {
        try await JobHarness.with { harness in
            let (worker, jobs) = try await harness.claimed(2)
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [jobs[0]], releasesUpTo: .max / 2, on: connection)
            }
            #expect(answer?.released == 1)
            let record = try #require(try await harness.show(jobs[1].id)?.record)
            #expect(record.state == .available)
            #expect(record.attempt == 0)
            #expect(record.crashes == 0)
        }
    }

    /// A job that was claimed after the last heartbeat's answer may still be on its way to the worker, whatever the
    /// server's clock says: it is not released.
    @Test func aClaimAfterTheLastAnswerIsNotReleased() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note()), JobHarness.plain.job(Note())])
            let worker = try await harness.host()
            let first = try await harness.claim(worker)
            let before = try await harness.pool.withConnection { try harness.beat(worker, first, on: $0) }
            let second = try await harness.claim(worker)[0]
            // As if the host had restarted with a clock that is slow.
            try await harness.execute(
                "update accountctl.jobs set claimed_at = claimed_at - interval '1 hour' where id = \(second.id)"
            )
            let last = try #require(before?.lastLease)
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(worker, first, releasesUpTo: last, on: connection)
            }
            #expect(answer?.released == 0)
            #expect(try await harness.finish(second))
        }
    }
}
