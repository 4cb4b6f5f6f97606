import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A worker that was cut off from the database for longer than its lease, and has it again.
@Suite(.timeLimit(.minutes(5))) struct CutOffTests {
    private let start = ContinuousClock.now

    /// A core that was registered at ``start``.
    private var core: WorkerCore {
        var configuration = WorkerConfiguration(name: "test")
        configuration.leaseLifetime = .seconds(40)
        var core = WorkerCore(configuration, reserve: 0, now: start)
        core.book.registered(sentAt: start)
        return core
    }

    private func after(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Answers a heartbeat that was sent at that moment.
    private func answer(_ core: inout WorkerCore, at instant: ContinuousClock.Instant) -> Int {
        answer(&core, sentAt: instant, at: instant)
    }

    /// Answers, at that moment, a heartbeat that had to wait for a connection since it was sent.
    private func answer(
        _ core: inout WorkerCore,
        sentAt: ContinuousClock.Instant,
        at instant: ContinuousClock.Instant
    ) -> Int {
        let beat = core.book.beat(now: sentAt)
        let failed = core.wasAnswered(serverTime: nil, now: instant)
        _ = core.book.answered(beat, held: [], cancelled: [], lastLease: 0)
        return failed
    }

    @Test func whoeverBeatsMayRescue() {
        var core = core
        #expect(core.mayRescue(now: start))
        let failed = answer(&core, at: after(10))
        #expect(failed == 0)
        #expect(core.mayRescue(now: after(10)))
    }

    /// The others, which were cut off with it, beat within a quarter of their leases.
    @Test func onceTheDatabaseIsThereAgainTheOthersHaveTimeToBeat() {
        var core = core
        core.server.failedBeats = 3
        #expect(!core.mayRescue(now: after(30)))
        let failed = answer(&core, at: after(30))
        #expect(failed == 3)
        #expect(core.server.failedBeats == 0)
        #expect(!core.mayRescue(now: after(39)))
        // The next one changes nothing about that.
        let failedSince = answer(&core, at: after(39))
        #expect(failedSince == 0)
        #expect(core.mayRescue(now: after(40)))
    }

    /// While the database was away a heartbeat waited for a connection, and none failed: the leases of others, whose last
    /// ones were answered up to a quarter of a lease earlier, end about now.
    @Test func soTheyHaveAfterAHeartbeatThatWaitedForTheDatabase() {
        var core = core
        let failed = answer(&core, sentAt: after(10), at: after(35))
        #expect(failed == 0)
        #expect(!core.mayRescue(now: after(36)))
        // The next one follows at once, since the connection is there again.
        let failedSince = answer(&core, at: after(36))
        #expect(failedSince == 0)
        #expect(!core.mayRescue(now: after(45)))
        #expect(core.mayRescue(now: after(46)))
    }

    /// Nobody loses a lease in the moments between a failed heartbeat and the next: where that comes again and again, what
    /// died is found all the same.
    @Test func heartbeatsThatFailNowAndThenAreNoHindrance() {
        var core = core
        for second in stride(from: 5, through: 50, by: 5) {
            core.server.failedBeats = 1
            #expect(core.mayRescue(now: after(second)))
            let failed = answer(&core, at: after(second))
            #expect(failed == 1)
            #expect(core.mayRescue(now: after(second)))
        }
    }

    /// No heartbeat of it has failed: it did not run.
    @Test func soItIsWhereTheProcessStoodStill() {
        var core = core
        #expect(!core.mayRescue(now: after(41)))
        let failed = answer(&core, at: after(41))
        #expect(failed == 0)
        #expect(!core.mayRescue(now: after(50)))
        #expect(core.mayRescue(now: after(51)))
    }

    /// The database may have been away until it began, for those who are about to beat.
    @Test func soItIsWhereItHasJustBegun() {
        var core = core
        core.registered(7, serverTime: 0, sentAt: start, now: start)
        #expect(!core.mayRescue(now: start))
        #expect(!core.mayRescue(now: after(9)))
        #expect(core.mayRescue(now: after(10)))
    }

    /// By a clock that was set to a later time the leases of others are over at once.
    @Test func soItIsWhereTheServersClockWasSet() {
        var core = core
        core.registered(7, serverTime: 0, sentAt: start, now: start)
        func answer(at second: Int, serverSecond: Int64) {
            let beat = core.book.beat(now: after(second))
            _ = core.wasAnswered(serverTime: serverSecond * 1_000_000, now: after(second))
            core.server.clock = (serverSecond * 1_000_000, after(second))
            _ = core.book.answered(beat, held: [], cancelled: [], lastLease: 0)
        }
        answer(at: 10, serverSecond: 10)
        #expect(core.mayRescue(now: after(10)))
        // Some seconds take nobody's lease.
        answer(at: 20, serverSecond: 25)
        #expect(core.mayRescue(now: after(20)))
        answer(at: 30, serverSecond: 65)
        #expect(!core.mayRescue(now: after(39)))
        answer(at: 40, serverSecond: 75)
        #expect(core.mayRescue(now: after(40)))
        // One that was set back ends none.
        answer(at: 50, serverSecond: 0)
        #expect(core.mayRescue(now: after(50)))
    }

    /// Whoever looks before its own heartbeat has told of such a clock goes by the time that the last one told.
    @Test func aClockThatWasSetTakesNobodyForLost() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            let (_, other) = try await harness.lateClaim()
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await worker.begin()
            worker.core.withLock { core in
                core.server.answeredSince = nil
                // As if the server's had been an hour later since.
                core.server.clock = core.server.clock.map { (time: $0.time - 3_600_000_000, at: $0.at) }
            }
            try await worker.rescueLost()
            #expect(await worker.beat())
            try await worker.rescueLost()
            let theirs = try await harness.show(other.id)?.record
            #expect(theirs?.state == .running && theirs?.crashes == 0)
            // When those who live have beaten.
            worker.core.withLock { $0.server.answeredSince = nil }
            try await worker.rescueLost()
            #expect(try await harness.show(other.id)?.record.crashes == 1)
        }
    }

    /// What it held goes back by its own heartbeat, and no crash is counted where no process died.
    @Test func takesNeitherItselfNorOthersForLost() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await worker.begin()
            let registered = worker.core.withLock { $0.worker }
            let own = try #require(registered)
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let job = try await harness.claim(own)[0]
            // It hears of the lease, which it does not know of.
            #expect(await worker.beat())
            let (_, other) = try await harness.lateClaim()
            try await harness.expire(own)
            worker.core.withLock { core in
                // It began long ago, and was cut off since.
                core.server.answeredSince = nil
                core.book.endTrust(now: .now)
            }

            try await worker.rescueLost()
            #expect(await worker.beat())
            try await worker.rescueLost()

            let mine = try await harness.show(job.id)?.record
            let theirs = try await harness.show(other.id)?.record
            #expect(mine?.state == .available)
            #expect(mine?.crashes == 0)
            #expect(mine?.attempt == 0)
            #expect(theirs?.state == .running)
            #expect(theirs?.crashes == 0)
            // When that time is over.
            worker.core.withLock { $0.server.answeredSince = nil }
            try await worker.rescueLost()
            #expect(try await harness.show(other.id)?.record.crashes == 1)
        }
    }

    /// Whoever looked while it could may have waited for its connection since, until the database was there again.
    @Test func norWhereTheTimeWentByBeforeItHadAConnection() async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { _, _ in .completed() }
            let (_, other) = try await harness.lateClaim()
            try await harness.database.withPool(maximumConnections: 1) { [registry] control in
                let worker = try harness.worker(registry, control: control) { $0.leaseLifetime = .seconds(600) }
                worker.core.withLock { core in
                    core.book.registered(sentAt: .now)
                    // Late enough for every lease of the test.
                    core.server.clock = (time: 4_000_000_000_000_000, at: .now)
                }
                let rescue = try await control.withConnection { _ in
                    let rescue = Task { try await worker.rescueLost() }
                    try await eventually("it waits", within: .seconds(120)) { control.counts.waiting > 0 }
                    worker.core.withLock { $0.book.endTrust(now: .now) }
                    return rescue
                }
                try await rescue.value
                let theirs = try await harness.show(other.id)?.record
                #expect(theirs?.state == .running && theirs?.crashes == 0)
                // Once it is trusted again.
                worker.core.withLock { $0.book.registered(sentAt: .now) }
                try await worker.rescueLost()
                #expect(try await harness.show(other.id)?.record.crashes == 1)
            }
        }
    }
}
