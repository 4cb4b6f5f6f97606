import Testing

@testable import JobQueue

/// How a worker's lease book takes the answers to heartbeats.
@Suite struct LeaseBookTests {
    private let start = ContinuousClock.now

    private func job(_ lease: Int64) -> JobLease { JobLease(id: lease - 10, lease: lease, worker: 1) }

    /// A book that holds jobs 1, 2 and 3 under leases 11, 12 and 13; the handler of the third is done.
    private func book() -> LeaseBook {
        var book = LeaseBook(lifetime: .seconds(60), now: start)
        book.registered(sentAt: start)
        let number = book.claimSent()
        let jobs = (11...13).map { (job: job($0), deadline: start.advanced(by: .seconds(50))) }
        _ = book.claimReturned(number, jobs, sentIn: book.generation, now: start)
        _ = book.handlerDone(job(13))
        return book
    }

    /// A worker that lives may lose a job past its deadline, or to an operator.
    @Test func whatIsNoLongerHeldIsStopped() {
        var book = book()
        let beat = book.beat(now: start)
        let stops = book.answered(beat, held: [job(12)], cancelled: [], lastLease: 13)
        #expect(stops == [.init(job: job(11), reason: .leaseLost)])
        // A job whose outcome was written meanwhile is no longer held either.
        #expect(Set(book.entries.keys) == [job(12), job(13)])
        #expect(book.handlerDone(job(11)) == nil)
        // The handler is stopped once.
        #expect(book.answered(book.beat(now: start), held: [job(12)], cancelled: [], lastLease: 13) == [])
    }

    @Test func whatIsToBeCancelledIsToldOnce() {
        var book = book()
        let beat = book.beat(now: start)
        let stops = book.answered(
            beat,
            held: [job(11), job(12), job(13)],
            cancelled: [job(12), job(13)],
            lastLease: 13
        )
        #expect(stops == [.init(job: job(12), reason: .cancelRequested)])
        let again = book.answered(
            beat,
            held: [job(11), job(12), job(13)],
            cancelled: [job(12), job(13)],
            lastLease: 13
        )
        #expect(again == [])
    }

    /// A job whose handler is done only waits for its outcome to be written, perhaps since the database is down: it is
    /// not overdue.
    @Test func whatGoesOnPastItsDeadlineIsOverdue() {
        var book = book()
        let grace = Duration.seconds(3)
        #expect(book.overdue(by: grace, now: start.advanced(by: .seconds(53))) == [])
        let late = start.advanced(by: .seconds(54))
        #expect(Set(book.overdue(by: grace, now: late)) == [job(11), job(12)])
        _ = book.handlerDone(job(11))
        #expect(book.overdue(by: grace, now: late) == [job(12)])
        _ = book.tick(now: start.advanced(by: .seconds(60)))
        #expect(book.overdue(by: grace, now: start.advanced(by: .seconds(61))) == [])
    }

    @Test func aWorkerTakenForLostStopsEverything() {
        var book = book()
        let stops = book.disowned(book.beat(now: start))
        #expect(Set(stops) == [.init(job: job(11), reason: .leaseLost), .init(job: job(12), reason: .leaseLost)])
        #expect(Set(book.entries.keys) == [job(13)])
    }

    /// A job whose handler is done has nothing to stop: its outcome is written before the worker ends.
    @Test func aWorkerThatEndsStopsWhatRuns() {
        var book = book()
        let stops = book.stopAll()
        #expect(Set(stops) == [.init(job: job(11), reason: .shutdown), .init(job: job(12), reason: .shutdown)])
        #expect(book.entries[job(13)]?.stop == nil)
        #expect(Set(book.entries.keys) == [job(11), job(12), job(13)])
        #expect(book.stopAll() == [])
    }

    /// A lease is trusted from the sending of the heartbeat; the server counts from its arrival, so that trust ends
    /// before a job is given to others.
    @Test func trustCountsFromTheSending() {
        var book = book()
        let sent = start.advanced(by: .seconds(30))
        _ = book.answered(
            book.beat(now: sent),
            held: [job(11), job(12)],
            cancelled: [],
            lastLease: 13
        )
        #expect(book.trustedUntil == sent.advanced(by: .seconds(60)))
        #expect(book.tick(now: start.advanced(by: .seconds(89))).allSatisfy { $0.reason == .deadline })
        #expect(book.tick(now: start.advanced(by: .seconds(90))).allSatisfy { $0.reason == .leaseLost })
        #expect(Set(book.entries.keys) == [job(13)])
    }

    /// An outcome whose row is locked may wait for long: looking at the clock meanwhile must not make the answer under
    /// way an outdated one.
    @Test func trustReturnsThoughAnOutcomeWaits() {
        var book = book()
        let isOver = start.advanced(by: .seconds(61))
        #expect(book.tick(now: isOver).count == 2)
        let beat = book.beat(now: isOver)
        #expect(book.tick(now: isOver) == [])
        #expect(book.answered(beat, held: [job(13)], cancelled: [], lastLease: 13) == [])
        #expect(book.trusts(now: isOver))
    }

    /// When the worker is trusted again, the handler of a job lost before may not have been stopped yet: its lease
    /// stays lost.
    @Test func newTrustIsNoneInWhatWasLost() {
        var book = book()
        let isOver = start.advanced(by: .seconds(61))
        #expect(book.trust(in: job(11)) == start.advanced(by: .seconds(60)))
        _ = book.tick(now: isOver)
        _ = book.answered(book.beat(now: isOver), held: [], cancelled: [], lastLease: 13)
        #expect(book.trusts(now: isOver))
        #expect(book.trust(in: job(11)) == nil)
    }

    /// After a failover that loses the end of the log lease numbers repeat: an old job and a new one may have the same.
    @Test func aNumberThatIsGivenOutAgainIsAnotherLease() {
        let (old, new) = (job(11), JobLease(id: 7, lease: 11, worker: 1))
        var core = WorkerCore(WorkerConfiguration(name: "test"), reserve: 0, now: start)
        core.book.registered(sentAt: start)
        for job in [old, new] {
            let number = core.book.claimSent()
            _ = core.book.claimReturned(number, [(job, start)], sentIn: core.book.generation, now: start)
            core.jobs[job] = running(job)
            core.plan.running += 1
        }
        // Only the handler of the old job is stopped.
        let stops = core.book.answered(
            core.book.beat(now: start),
            held: [new],
            cancelled: [],
            lastLease: 13
        )
        #expect(stops == [.init(job: old, reason: .leaseLost)])
        // The end of the old job leaves the new one in the books.
        _ = core.done(running(old), .nothing, hasLimit: false, now: start)
        core.wrote([FinishedJob(job: running(old).job, verdict: .nothing)], now: start)
        #expect(core.book.beat(now: start).jobs == [new])
        #expect(core.jobs.keys.map(\.self) == [new])
    }

    private func running(_ job: JobLease) -> RunningJob {
        let claimed = ClaimedJob(
            (job.id, job.lease, "default", "test.plain", 1, 0, nil, 1, 5, 0, 0, false, "{}"),
            of: job.worker
        )
        return RunningJob(job: claimed, startedAt: start, timeout: .seconds(60))
    }
}
