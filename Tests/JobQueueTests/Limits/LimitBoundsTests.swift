import Foundation
import Postgres
import Testing

@testable import JobQueue

/// Claims under limits that begin at a bound, without a full scan.
@Suite(.timeLimit(.minutes(5))) struct LimitBoundsTests {
    /// Claims from one lane by hand, with the bounds that a worker has between two full scans.
    private struct Claimer {
        let harness: JobHarness
        let lanes = JobHarness.plainLanes
        let worker: Int64
        var bounds = LimitedBounds(fullScanInterval: .seconds(3600))

        init(_ harness: JobHarness, _ limits: JobKind<Note>.Limits) async throws {
            self.harness = harness
            let lanes = lanes
            worker = try await harness.pool.withConnection { connection in
                try harness.queue.addWorker(
                    lanes,
                    limits: [.init(kind: "test.plain", running: limits.running, runningPerKey: limits.runningPerKey)],
                    on: connection
                )
            }
        }

        mutating func claim(_ count: Int) async throws -> [ClaimedJob] {
            let known = bounds.bounds(now: .now)
            var request = JobQueue.ClaimRequest(worker: worker, limit: count, bounds: known)
            request.waiting = bounds.waiting
            let claim = try await harness.pool.withConnection { [harness, lanes, request] connection in
                try await harness.queue.claimLimited(lanes, request, on: connection)
            }
            bounds.claimed(claim, wasBounded: known != nil, now: .now, endedAt: .now)
            return claim.jobs
        }

        func finish(_ job: ClaimedJob) async throws {
            let ending = JobQueue.Ending(outcome: .completed, jobs: [job.leased])
            let ended = try await harness.pool.withConnection { [harness] connection in
                try harness.queue.finish(ending, on: connection)
            }
            #expect(ended == [job.leased])
        }

        func enqueue(_ limitKeys: [String?], runAt: Date? = nil) async throws -> [Int64] {
            try await harness.enqueue(
                limitKeys.map { try NewJob(kind: "test.plain", queue: "default", runAt: runAt, limitKey: $0) }
            )
            .map(\.id)
        }
    }

    /// A job that waited for its key lies below the bound and is taken all the same, before later jobs; a suspect,
    /// which runs alone, is not.
    @Test(arguments: [0, 1]) func whatWaitedForItsKeyGoesFirst(_ crashes: Int) async throws {
        try await JobHarness.with { harness in
            var claimer = try await Claimer(harness, .init(runningPerKey: 1))
            let ids = try await claimer.enqueue(["a", "a"])
            let other = try await claimer.enqueue(["b"])
            let first = try await claimer.claim(3)
            #expect(Set(first.map(\.id)) == [ids[0], other[0]])
            try await harness.execute("update accountctl.jobs set crashes = \(crashes) where id = \(ids[1])")
            let later = try await claimer.enqueue(["c", "d", nil])
            for job in first where job.id == ids[0] { try await claimer.finish(job) }
            #expect(try await claimer.claim(1).map(\.id) == [crashes == 0 ? ids[1] : later[0]])
        }
    }

    /// A job that appears below the bound is found once nothing lies above it, with a key and without.
    @Test(arguments: [JobKind<Note>.Limits(running: 9), .init(runningPerKey: 9)])
    func whatLiesBelowTheBoundIsFound(_ limits: JobKind<Note>.Limits) async throws {
        try await JobHarness.with { harness in
            var claimer = try await Claimer(harness, limits)
            _ = try await claimer.enqueue(["a"])
            #expect(try await claimer.claim(1).count == 1)
            let late = try await claimer.enqueue(["b"], runAt: Date(timeIntervalSince1970: 1000))
            let above = try await claimer.enqueue(["c"])
            #expect(Set(try await claimer.claim(2).map(\.id)) == Set(late + above))
        }
    }

    /// The count of running jobs begins at the least lease that runs, and a full scan finds jobs with leases below it.
    @Test func theCountOfRunningJobsBeginsWhereTheyDo() async throws {
        try await JobHarness.with { harness in
            let floor = { try await harness.count("select counted_from from accountctl.job_limits") }
            try await harness.execute("select setval('accountctl.job_leases', 5000)")
            var claimer = try await Claimer(harness, .init(running: 2))
            _ = try await claimer.enqueue(Array(repeating: nil, count: 9))
            let first = try await claimer.claim(9)
            #expect(first.count == 2)
            #expect(try await floor() == first.map(\.lease).min().map(Int.init))
            #expect(try await claimer.claim(9).isEmpty)
            try await claimer.finish(first[0])
            let next = try await claimer.claim(9)
            #expect(next.count == 1)
            try await claimer.finish(first[1])
            // As if claimed before anybody knew of the limit.
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, lease)
                values ('default', 'test.plain', 'running', \(claimer.worker), 7)
                """
            )
            claimer.bounds = LimitedBounds()
            #expect(try await claimer.claim(9).isEmpty)
            #expect(try await floor() == 7)
        }
    }
}
