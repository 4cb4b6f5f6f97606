import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// A worker that was cut off from the database for longer than its lease, and reaches it again.
@Suite(.timeLimit(.minutes(5))) struct CutOffTests {
    private let start = ContinuousClock.now

    /// A worker's core that was registered at ``start``.
    private var core: WorkerCore {
        var configuration = WorkerConfiguration(name: "test")
        configuration.leaseLifetime = .seconds(40)
        var core = WorkerCore(configuration, reserve: 0, now: start)
        core.book.registered(sentAt: start)
        return core
    }

    private func after(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// Answers a heartbeat that was sent at `instant`.
    private func answer(_ core: inout WorkerCore, at instant: ContinuousClock.Instant) -> Int {
        answer(&core, sentAt: instant, at: instant)
    }

    /// Answers at `instant` a heartbeat that was sent at `sentAt` and had to wait for a connection.
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

    /// Claims that had to wait for an answer are made once it comes: nothing else wakes the worker.
    @Test func anAnswerSaysWhenClaimsAreAllowedAgain() {
        var core = core
        let answer = JobQueue.BeatAnswer(
            held: [],
            cancelled: [],
            released: 0,
            serverTime: 0,
            lastLease: 0,
            restrictions: ClaimRestrictions()
        )
        for mayClaimMore in [true, false] {
            let beat = core.book.beat(now: after(39))
            let heard = core.heard(answer, to: beat, of: 1, ended: [], now: after(39))
            #expect(heard.mayClaimMore == mayClaimMore)
        }
    }

    /// After an outage the other workers, which were cut off too, send heartbeats within a quarter of their leases: no
    /// rescue before that.
    @Test func onceTheDatabaseIsThereAgainTheOthersHaveTimeToBeat() {
        var core = core
        core.server.failedBeats = 3
        #expect(!core.mayRescue(now: after(30)))
        let failed = answer(&core, at: after(30))
        #expect(failed == 3)
        #expect(core.server.failedBeats == 0)
        #expect(!core.mayRescue(now: after(39)))
        // The next heartbeat does not extend that time.
        let failedSince = answer(&core, at: after(39))
        #expect(failedSince == 0)
        #expect(core.mayRescue(now: after(40)))
    }

    /// A heartbeat may wait for a connection during an outage instead of failing: the leases of others, whose last
    /// heartbeats were answered up to a quarter of a lease earlier, end about now.
    @Test func soTheyHaveAfterAHeartbeatThatWaitedForTheDatabase() {
        var core = core
        let failed = answer(&core, sentAt: after(10), at: after(35))
        #expect(failed == 0)
        #expect(!core.mayRescue(now: after(36)))
        // The next heartbeat follows at once, since there is a connection again.
        let failedSince = answer(&core, at: after(36))
        #expect(failedSince == 0)
        #expect(!core.mayRescue(now: after(45)))
        #expect(core.mayRescue(now: after(46)))
    }

    /// Nobody loses a lease between a failed heartbeat and the next: even if heartbeats fail again and again, lost
    /// workers are rescued.
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

    /// No heartbeat of a stopped process has failed, since it did not run: it waits before it rescues as well.
    @Test func soItIsWhereTheProcessStoodStill() {
        var core = core
        #expect(!core.mayRescue(now: after(41)))
        let failed = answer(&core, at: after(41))
        #expect(failed == 0)
        #expect(!core.mayRescue(now: after(50)))
        #expect(core.mayRescue(now: after(51)))
    }

    /// The database may have been down until this worker began: others that are about to send a heartbeat get the time
    /// for that.
    @Test func soItIsWhereItHasJustBegun() {
        var core = core
        core.registered(7, serverTime: 0, sentAt: start, now: start)
        #expect(!core.mayRescue(now: start))
        #expect(!core.mayRescue(now: after(9)))
        #expect(core.mayRescue(now: after(10)))
    }

    /// A server clock that was set forward ends the leases of others at once: they get the time for a heartbeat.
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
        // A jump of some seconds ends no lease.
        answer(at: 20, serverSecond: 25)
        #expect(core.mayRescue(now: after(20)))
        answer(at: 30, serverSecond: 65)
        #expect(!core.mayRescue(now: after(39)))
        answer(at: 40, serverSecond: 75)
        #expect(core.mayRescue(now: after(40)))
        // A clock that was set back ends no lease.
        answer(at: 50, serverSecond: 0)
        #expect(core.mayRescue(now: after(50)))
    }

    /// A rescue before the worker's own heartbeat has noticed such a clock uses the time that the last heartbeat
    /// reported.
    @Test func aClockThatWasSetTakesNobodyForLost() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            let (_, other) = try await harness.lateClaim()
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await worker.begin()
            worker.core.withLock { core in
                core.server.answeredSince = nil
                // As if the server's clock had been set forward by an hour since.
                core.server.clock = core.server.clock.map { (time: $0.time - 3_600_000_000, at: $0.at) }
            }
            try await worker.rescueLost()
            #expect(await worker.beat())
            try await worker.rescueLost()
            let theirs = try await harness.show(other.id)?.record
            #expect(theirs?.state == .running && theirs?.crashes == 0)
            // The time for the heartbeats of living workers is over.
            worker.core.withLock { $0.server.answeredSince = nil }
            try await worker.rescueLost()
            #expect(try await harness.show(other.id)?.record.crashes == 1)
        }
    }

    /// The worker's own heartbeat releases the job that it held, and no crash is counted, since no process died.
    @Test func takesNeitherItselfNorOthersForLost() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await worker.begin()
            let registered = worker.core.withLock { $0.worker }
            let own = try #require(registered)
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let job = try await harness.claim(own)[0]
            // The worker learns of the lease, which is not in its book.
            #expect(await worker.beat())
            let (_, other) = try await harness.lateClaim()
            try await harness.expire(own)
            worker.core.withLock { core in
                // The worker began long ago, and has been cut off since.
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
            // The time for the heartbeats of others is over.
            worker.core.withLock { $0.server.answeredSince = nil }
            try await worker.rescueLost()
            #expect(try await harness.show(other.id)?.record.crashes == 1)
        }
    }

    /// A rescue that began while the worker was trusted may wait for its connection until the outage is over: it takes
    /// nobody for lost either.
    @Test func norWhereTheTimeWentByBeforeItHadAConnection() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { _, _ in .completed() }
            let (_, other) = try await harness.lateClaim()
            try await harness.database.withPool(maximumConnections: 1) { control in
                let worker = try harness.worker(registry, control: control) { $0.leaseLifetime = .seconds(600) }
                worker.core.withLock { core in
                    core.book.registered(sentAt: .now)
                    // Later than the end of every lease of the test.
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
                // The worker is trusted again.
                worker.core.withLock { $0.book.registered(sentAt: .now) }
                try await worker.rescueLost()
                #expect(try await harness.show(other.id)?.record.crashes == 1)
            }
        }
    }
}
