import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The limits that releases declare in code, while workers of several releases live.
@Suite(.timeLimit(.minutes(5))) struct LimitsOfCodeTests {
    static let lanes = ["test.both", "test.new", "test.old"].map {
        Lane(queue: "default", kind: $0, timeout: .seconds(60))
    }

    private func register(
        _ version: String,
        _ limits: [String: Int],
        lanes: [Lane] = Self.lanes,
        _ harness: JobHarness
    ) async throws -> Int64 {
        let limits = limits.map { JobQueue.KindLimit(kind: $0.key, running: $0.value, runningPerKey: nil) }
        return try await harness.pool.withConnection { connection in
            try harness.queue.addWorker(lanes, version: version, limits: limits, on: connection)
        }
    }

    private func limits(_ harness: JobHarness) async throws -> [String: Int] {
        let limits = try await harness.pool.withConnection { try harness.queue.kindLimits(on: $0) }
        return Dictionary(uniqueKeysWithValues: limits.map { ($0.kind, Int($0.running ?? 0)) })
    }

    /// A process of the old release that starts during a deploy neither overwrites, clears nor adds a limit.
    @Test func theNewestReleaseStands() async throws {
        try await JobHarness.with { harness in
            _ = try await register("0.9.1", ["test.both": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == ["test.both": 1, "test.old": 1])
            _ = try await register("0.10.0", ["test.both": 2, "test.new": 2], harness)
            let new = ["test.both": 2, "test.new": 2]
            #expect(try await limits(harness) == new)
            _ = try await register("0.9.1", ["test.both": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == new)
            // A version without a number counts as older than all others.
            _ = try await register("unknown", ["test.both": 3], harness)
            #expect(try await limits(harness) == new)
            for version in ["0.10.0.1", "1-beta"] {
                let release = try await register(version, ["test.both": 3], harness)
                #expect(try await limits(harness) == ["test.both": 3], "\(version)")
                try await end(release, harness)
                _ = try await register("0.10.0", ["test.both": 2, "test.new": 2], harness)
                #expect(try await limits(harness) == new, "\(version)")
            }
        }
    }

    /// When workers begin together, the one that writes the limits may not have done so yet.
    @Test func nobodyOfAReleaseClaimsBeforeThereIsALimit() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.pool.withConnection { connection in
                var workers: [Int64] = []
                for version in ["1", "1", "0.9"] {
                    let registration = JobQueue.Registration(
                        name: "t",
                        version: version,
                        slots: 9,
                        lanes: Self.lanes,
                        lifetime: .seconds(600)
                    )
                    workers.append(try queue.register(registration, on: connection).id)
                }
                // The older release's limit does not count for a kind that the newer one leaves without a limit.
                for (worker, kind) in [(workers[0], "test.both"), (workers[2], "test.old")] {
                    let limit = JobQueue.KindLimit(kind: kind, running: 1, runningPerKey: nil)
                    try queue.syncLimits([limit], of: [kind], by: worker, patience: .seconds(60), on: connection)
                }
            }
            #expect(try await limits(harness) == ["test.both": 1])
        }
    }

    private func end(_ worker: Int64, _ harness: JobHarness) async throws {
        try await harness.pool.withConnection { try harness.queue.deregister(worker: worker, on: $0) }
    }

    /// A newer release decides the limits of the kinds that it works on, and of no others.
    @Test func onlyTheKindsOfANewerReleaseAreItsOwn() async throws {
        try await JobHarness.with { harness in
            _ = try await register("2", ["test.new": 2, "test.old": 2], lanes: [Self.lanes[1]], harness)
            #expect(try await limits(harness) == ["test.new": 2])
            _ = try await register("1", ["test.new": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == ["test.new": 2, "test.old": 1])
        }
    }

    private func worker(_ version: String, _ limit: Int, _ harness: JobHarness) throws -> Worker {
        let kind = JobKind<Note>("test.both", limits: .init(running: limit))
        let registry = try JobRegistry(kind) { _, _ in .completed() }
        return try harness.worker(registry) { $0.version = version }
    }

    /// When a deploy is rolled back its limits go too, whether the remaining workers began before the deploy or during
    /// it.
    @Test(arguments: [false, true]) func theLimitsOfATakenBackReleaseGo(_ beganBefore: Bool) async throws {
        try await JobHarness.with { harness in
            let old = try worker("0.9.1", 1, harness)
            if beganBefore { try await old.begin() }
            let new = try await register("0.10.0", ["test.both": 2], harness)
            if !beganBefore { try await old.begin() }
            try await old.syncKindLimits()
            #expect(try await limits(harness) == ["test.both": 2])
            try await end(new, harness)
            try await old.syncKindLimits()
            #expect(try await limits(harness) == ["test.both": 1])
        }
    }

    /// The newest release overwrites limits of an older one that had not seen it yet.
    @Test func theNewestMakesGoodWhatAnotherSaid() async throws {
        try await JobHarness.with { harness in
            let new = try worker("2", 2, harness)
            try await new.begin()
            for change in ["set max_running = 1", "set max_running = null, max_running_per_key = 1"] {
                try await harness.execute("update accountctl.job_limits \(unsafeSQL: change)")
                try await new.syncKindLimits()
                #expect(try await limits(harness) == ["test.both": 2])
            }
            // Within one release the latest worker's limits win, and the others do not rewrite theirs over and over.
            _ = try await register("2", ["test.both": 3], harness)
            try await new.syncKindLimits()
            #expect(try await limits(harness) == ["test.both": 3])
        }
    }

    /// A worker restores the limits of its code while it runs, too, not only when it begins.
    @Test func aRunningWorkerMakesGoodWhatAnotherSaid() async throws {
        try await JobHarness.with { harness in
            try await harness.withWorker(try worker("2", 2, harness)) {
                try await harness.until { try await limits(harness) == ["test.both": 2] }
                try await harness.execute("update accountctl.job_limits set max_running = 1")
                try await harness.until { try await limits(harness) == ["test.both": 2] }
            }
        }
    }

    /// The server ends the transaction of a claim whose process stops between two statements, so that the row of the
    /// limit does not stay locked.
    @Test func aClaimThatStandsStillKeepsNobodyFromBeginning() async throws {
        try await JobHarness.with { harness in
            try await worker("1", 1, harness).begin()
            let error = await #expect(throws: PostgresError.self) {
                try await harness.pool.withConnection { connection in
                    try await connection.briefTransaction { connection in
                        try connection.execute("select from accountctl.job_limits for update")
                        try await worker("2", 2, harness).begin()
                    }
                }
            }
            #expect(error?.code == .connectionLost)
            #expect(try await limits(harness) == ["test.both": 2])
        }
    }
}
