import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// How many jobs a queue may start in a period.
@Suite(.timeLimit(.minutes(5))) struct RateTests {
    @Test func aQueueStartsSoManyInATime() async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        try await JobHarness.with { harness in
            let registry = try harness.recording(kind)
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limitRate(queue: "apple", to: (5, .seconds(3600)), on: connection)
            }
            try await harness.enqueue(try (0..<20).map { _ in try kind.job(Note()) })
            let workers = try (0..<2).map { _ in try harness.worker(registry) }
            try await harness.withWorkers(workers) {
                try await harness.until { try await harness.effects() >= 5 }
                // Still no more after ten looks, each of which locks the queue's row anew.
                var looks: Set<Int> = []
                try await eventually("ten looks at the queue", within: .seconds(120)) {
                    let locker: Statement = "select xmax::text::bigint from accountctl.queues where name = 'apple'"
                    looks.insert(try await harness.count(locker))
                    return looks.count >= 10
                }
                #expect(try await harness.effects() == 5)
                try await harness.pool.withConnection { connection in
                    _ = try harness.queue.limitRate(queue: "apple", to: nil, on: connection)
                }
                try await harness.until { try await harness.effects() == 20 }
            }
        }
    }

    /// Unused tokens are kept for up to one period, as the help of `jobs limit` says.
    @Test func whatARateDidNotUseIsKept() async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        let lanes = [Lane(queue: "apple", kind: kind.name, timeout: .seconds(60))]
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<40).map { _ in try kind.job(Note()) })
            let worker = try await harness.host()
            let queue = harness.queue
            try await harness.pool.withConnection { connection in
                _ = try queue.limitRate(queue: "apple", to: (10, .seconds(3600)), on: connection)
            }
            var begun: [Int] = []
            for seconds in [0, 1800, 7200, 0] {
                try await harness.execute(
                    "update accountctl.queues set rate_counted_at = rate_counted_at - \(seconds) * interval '1 second'"
                )
                let claim = try await harness.pool.withConnection { connection in
                    try await queue.claimLimited(lanes, .init(worker: worker, limit: 40), on: connection)
                }
                begun.append(claim.jobs.count)
            }
            #expect(begun == [10, 5, 10, 0])
        }
    }

    /// Tokens come back with time, without a notification: the worker looks at the queue again before the next poll.
    ///
    /// This holds even if the server's clock has gone back since the tokens were counted.
    @Test(arguments: [10, 1_000_000]) func aRateGoesOnBetweenTwoPolls(_ rate: Int) async throws {
        let kind = JobKind<Note>("test.rated", queue: "apple")
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, _ in .completed() }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limitRate(queue: "apple", to: (rate, .seconds(1)), on: connection)
            }
            try await harness.execute(
                "update accountctl.queues set rate_tokens = 0, rate_counted_at = now() + interval '1 hour'"
            )
            try await harness.enqueue(try (0..<30).map { _ in try kind.job(Note()) })
            try await harness.withWorker(registry, { $0.pollInterval = .seconds(3600) }) {
                try await harness.until { try await harness.finished("completed") == 30 }
            }
        }
    }

    /// A time that another claim wrote while this one waited for the queue's row does not mean that the clock went
    /// back: each such claim would lose time.
    @Test func timeCountsForWhoeverWaitedForTheQueue() async throws {
        try await JobHarness.with { harness in
            let lanes = [Lane(queue: "slow", kind: "a", timeout: .seconds(60))]
            let worker = try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "slow", to: (1, .seconds(3600)), on: connection)
                return try harness.queue.addWorker(lanes, on: connection)
            }
            let (claim, written) = try await harness.pool.withTransaction { connection in
                try connection.execute("select from accountctl.queues where name = 'slow' for update")
                let request = JobQueue.ClaimRequest(worker: worker, limit: 9)
                let claim = Task {
                    try await harness.pool.withTransaction { connection in
                        // A worker's claim would give up after a second.
                        try connection.execute("set local lock_timeout = 0")
                        return try harness.queue.claimLimitedLocked(lanes, request, on: connection)
                    }
                }
                try await harness.database.waitUntilBlocked(sessions: 1)
                let counted: Statement = """
                    update accountctl.queues
                    set rate_counted_at = clock_timestamp()
                    where name = 'slow'
                    returning extract(epoch from rate_counted_at)::text
                    """
                return (claim, try connection.one(counted, as: String.self))
            }
            #expect(try await claim.value.jobs.isEmpty)
            let left = "select extract(epoch from rate_counted_at) from accountctl.queues where name = 'slow'"
            #expect(try await harness.database.psql(left) == written)
        }
    }

    /// Kinds of one queue share its tokens in the order of their jobs, not by name, nor by the first job of each kind.
    @Test(
        arguments: [
            ([("b", 5), ("a", 5)], ["b"]),
            ([("a", 0), ("a", 9), ("b", 5)], ["a", "b"]),
        ] as [([(String, Int16)], [String])]
    )
    func tokensGoToTheFirstJobsOfTheQueue(_ jobs: [(String, Int16)], _ begun: [String]) async throws {
        try await JobHarness.with { harness in
            let lanes = ["a", "b"].map { Lane(queue: "slow", kind: $0, timeout: .seconds(60)) }
            let claimed = try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "slow", to: (begun.count, .seconds(3600)), on: connection)
                // One by one, so that each job has its own ready time.
                for (kind, priority) in jobs {
                    try harness.queue.enqueue([NewJob(kind: kind, queue: "slow", priority: priority)], on: connection)
                }
                let worker = try harness.queue.addWorker(lanes, on: connection)
                return try await harness.queue.claimLimited(lanes, .init(worker: worker, limit: 9), on: connection).jobs
            }
            #expect(claimed.map(\.kind).sorted() == begun)
        }
    }

    /// A claim from several kinds locks no more jobs than it takes: other sessions would pass over the rest until it
    /// commits.
    @Test(arguments: [false, true]) func otherJobsOfTheQueueStayUnlocked(isBounded: Bool) async throws {
        try await JobHarness.with { harness in
            let lanes = ["a", "b"].map { Lane(queue: "slow", kind: $0, timeout: .seconds(60)) }
            let start: ClaimBounds.Start = [ClaimBounds.Key(lane: lanes[0].name, priority: 0): 1]
            let worker = try await harness.pool.withConnection { connection in
                try harness.queue.limitRate(queue: "slow", to: (3, .seconds(3600)), on: connection)
                for lane in lanes {
                    let jobs = try (0..<5).map { _ in try NewJob(kind: lane.kind, queue: lane.queue) }
                    try harness.queue.enqueue(jobs, on: connection)
                }
                return try harness.queue.addWorker(lanes, on: connection)
            }
            let request = JobQueue.ClaimRequest(worker: worker, limit: 9, bounds: isBounded ? start : nil)
            try await harness.pool.withTransaction { connection in
                let claimed = try harness.queue.claimLimitedLocked(lanes, request, on: connection).jobs
                #expect(claimed.count == 3)
                let others = try await harness.pool.withConnection { other in
                    try other.query("select id from accountctl.jobs for update skip locked", as: Int64.self)
                }
                #expect(others.count == 7)
            }
        }
    }
}
