import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What releases say of their limits, while several of them live.
@Suite(.timeLimit(.minutes(1))) struct LimitsOfCodeTests {
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
        return try await harness.pool.withTransaction { connection in
            try harness.queue.register(
                .init(name: "t", version: version, slots: 9, lanes: lanes, limits: limits, lifetime: .seconds(60)),
                on: connection
            ).id
        }
    }

    private func limits(_ harness: JobHarness) async throws -> [String: Int] {
        let limits = try await harness.pool.withConnection { try harness.queue.kindLimits(on: $0) }
        return Dictionary(uniqueKeysWithValues: limits.map { ($0.kind, Int($0.running ?? 0)) })
    }

    /// A process of the old release that starts amid a deploy neither overwrites, clears nor adds a limit.
    @Test func theNewestReleaseStands() async throws {
        try await JobHarness.with { harness in
            _ = try await register("0.9.1", ["test.both": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == ["test.both": 1, "test.old": 1])
            _ = try await register("0.10.0", ["test.both": 2, "test.new": 2], harness)
            let new = ["test.both": 2, "test.new": 2]
            #expect(try await limits(harness) == new)
            _ = try await register("0.9.1", ["test.both": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == new)
            // One that is newer still, and one whose order nobody knows.
            for version in ["0.10.0.1", "1-beta", "unknown"] {
                let release = try await register(version, ["test.both": 3], harness)
                #expect(try await limits(harness) == ["test.both": 3], "\(version)")
                try await end(release, harness)
                _ = try await register("0.10.0", ["test.both": 2, "test.new": 2], harness)
                #expect(try await limits(harness) == new, "\(version)")
            }
        }
    }

    private func end(_ worker: Int64, _ harness: JobHarness) async throws {
        try await harness.pool.withConnection { try harness.queue.deregister(worker: worker, on: $0) }
    }

    /// A newer release that works on other kinds has no word in these.
    @Test func onlyTheKindsOfANewerReleaseAreItsOwn() async throws {
        try await JobHarness.with { harness in
            _ = try await register("2", ["test.new": 2, "test.old": 2], lanes: [Self.lanes[1]], harness)
            #expect(try await limits(harness) == ["test.new": 2])
            _ = try await register("1", ["test.new": 1, "test.old": 1], harness)
            #expect(try await limits(harness) == ["test.new": 2, "test.old": 1])
        }
    }

    /// When a deploy is taken back, the limits go back with it, be it by workers that began before or amid it; the former
    /// had no look at the tables meanwhile.
    @Test(arguments: [false, true]) func theLimitsOfATakenBackReleaseGo(_ beganBefore: Bool) async throws {
        let kind = JobKind<Note>("test.both", limits: .init(running: 1))
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, _ in .completed() }
            let old = try harness.worker(registry) { $0.version = "0.9.1" }
            if beganBefore {
                try await old.begin()
                try await old.sayLimits()
            }
            let new = try await register("0.10.0", ["test.both": 2], harness)
            if !beganBefore {
                try await old.begin()
                try await old.sayLimits()
            }
            #expect(try await limits(harness) == ["test.both": 2])
            try await end(new, harness)
            try await old.sayLimits()
            #expect(try await limits(harness) == ["test.both": 1])
        }
    }

    /// An old release that begins while a newer one is about to say its limits waits for it.
    @Test func releasesThatBeginAtOnceAgree() async throws {
        try await JobHarness.with { harness in
            _ = try await register("1", ["test.both": 1], harness)
            let old = try await harness.pool.withTransaction { connection in
                _ = try harness.queue.register(
                    .init(
                        name: "t",
                        version: "2",
                        slots: 9,
                        lanes: Self.lanes,
                        limits: [.init(kind: "test.both", running: 2, runningPerKey: nil)],
                        lifetime: .seconds(60)
                    ),
                    on: connection
                )
                let old = Task { try await register("1", ["test.both": 1], harness) }
                try await harness.database.waitUntilBlocked(sessions: 1)
                return old
            }
            _ = try await old.value
            #expect(try await limits(harness) == ["test.both": 2])
        }
    }

    private static func release(isAlive: Bool, _ latestStart: Int64) -> [String: JobQueue.NewerRelease] {
        ["a": .init(isAlive: isAlive, latestStart: latestStart)]
    }

    @Test func limitsAreSaidOnceUnlessANewerReleaseCame() {
        var word = LimitsWord(kinds: ["a", "b"])
        #expect(word.heard([:]) == ["a", "b"])
        word.said(["a", "b"])
        #expect(word.heard([:]).isEmpty)
        #expect(word.heard(Self.release(isAlive: true, 1)).isEmpty)
        #expect(word.heard(Self.release(isAlive: true, 1)).isEmpty)
        #expect(word.heard(Self.release(isAlive: false, 1)) == ["a"])
        word.said(["a"])
        #expect(word.heard(Self.release(isAlive: false, 1)).isEmpty)
        // It came and went between two looks.
        #expect(word.heard(Self.release(isAlive: false, 2)) == ["a"])
    }
}
