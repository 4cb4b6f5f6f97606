/// The state of a worker: the jobs it holds, the outcomes to write, and when to talk to the table.
///
/// A value, guarded by one lock.
struct WorkerCore: Sendable {
    typealias Instant = ContinuousClock.Instant

    var book: LeaseBook
    var plan: ExchangePlan
    var suspects = SuspectTurn()
    var parked: ParkedRounds
    /// Where claims of lanes without limits begin.
    var bounds = ClaimBounds()
    /// Where claims of lanes under limits begin, which may find too few jobs even if there are more.
    var limitedBounds = LimitedBounds()
    var server = ServerContact()
    var worker: Int64?
    /// The worker's previous id after it was declared lost, until the jobs held under that id are given up.
    var formerWorker: Int64?
    var jobs: [JobLease: RunningJob] = [:]
    var finished: [FinishedJob] = []
    /// Finished jobs whose rows another session has locked.
    private var locked: [FinishedJob] = []
    /// The restrictions on claims as of the last heartbeat, whether set by other workers' code or by operators.
    private(set) var restrictions = ClaimRestrictions()
    /// Whether the last single free slot was offered to the lanes without limits first.
    private var plainHadLastTurn = false
    var failures = 0
    /// How often in a row another session held the locks of limits.
    var limitFailures = 0
    /// How many handlers that do not stop held all slots, if that is why the worker ends; otherwise 0.
    var abandoned = 0
    /// Since when the worker has been stopping.
    var stoppingSince: Instant?

    init(_ configuration: WorkerConfiguration, reserve: Int, now: Instant) {
        book = LeaseBook(lifetime: configuration.leaseLifetime, now: now)
        parked = ParkedRounds(interval: configuration.rescueInterval, now: now)
        plan = ExchangePlan(
            slots: configuration.slots,
            reserve: reserve,
            batch: configuration.batch,
            linger: configuration.linger
        )
    }

    /// Whether to claim from the lanes without limits first, which otherwise get what the others leave.
    ///
    /// A single slot leaves nothing: lanes with and without limits take turns.
    mutating func plainGoesFirst(claiming count: Int) -> Bool {
        guard count == 1 else { return false }
        plainHadLastTurn.toggle()
        return plainHadLastTurn
    }

    /// Updates the restrictions on claims.
    ///
    /// Returns true if they changed: jobs held back by them may be claimable now, and nothing else notifies of these.
    mutating func learn(_ restrictions: ClaimRestrictions) -> Bool {
        guard restrictions != self.restrictions else { return false }
        self.restrictions = restrictions
        plan.wake()
        return true
    }

    /// Records that another session holds the locks of limits: their lanes are left out for a while, so that nothing
    /// else waits.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - random: from 0.5 to 1, so that many workers do not retry at once.
    mutating func limitsWereHeld(now: Instant, random: Double) {
        limitFailures += 1
        // Each attempt waits up to a second for the locks, and everything else waits with it.
        let wait = min(5, Double(1 << min(limitFailures, 3))) * random
        plan.limitsHeldUntil = now.advanced(by: .seconds(wait))
        limitedBounds = LimitedBounds()
    }

    /// The next step of the exchange loop, unless it claims a suspect.
    mutating func step(now: Instant) -> ExchangePlan.Step {
        plan.mayClaim = worker != nil && book.mayClaim(now: now) && suspects.allowsOrdinary
        plan.lookAgain(now: now)
        let step = plan.step(now: now)
        guard case .wait(let until) = step, let givesUpAt = suspects.givesUpAt, now < givesUpAt else { return step }
        return .wait(until: min(until ?? givesUpAt, givesUpAt))
    }

    /// Whether to claim a job that must run alone now.
    ///
    /// It does not wait for handlers that continue, perhaps forever, without their jobs after having been told to stop
    /// before `instant`.
    mutating func claimsSuspect(toldBefore instant: Instant, now: Instant) -> Bool {
        guard !suspects.allowsOrdinary, !plan.isStopping, worker != nil, book.mayClaim(now: now) else { return false }
        if let pausedUntil = plan.pausedUntil, now < pausedUntil { return false }
        let others = SuspectTurn.Surroundings(
            occupied: plan.running + plan.finished - abandoned(toldBefore: instant),
            suspects: jobs.count { job, running in
                running.job.crashes > 0 && !isAbandoned(job, running, toldBefore: instant)
            },
            hasLast: suspects.last.map { job in
                book.entries[job] != nil || jobs[job].map { !isAbandoned(job, $0, toldBefore: instant) } ?? false
            } ?? false,
            hasRoom: plan.freeSlots > 0
        )
        return suspects.claimsSuspect(beside: others, now: now)
    }

    /// Records that a handler has ended.
    ///
    /// Returns true if the exchange loop should check for work.
    mutating func done(
        _ running: RunningJob,
        _ verdict: Verdict,
        hasLimit: Bool,
        isInDoubt: Bool = false,
        now: Instant
    ) -> Bool {
        let job = running.job.leased
        jobs[job] = nil
        plan.running -= 1
        if hasLimit || restrictions.limitedKinds.contains(running.job.kind) { plan.wake() }
        // Its lease was lost: the slot is free, and nothing may be written.
        guard book.handlerDone(job) != nil else { return true }
        if verdict == .nothing {
            book.settled(job)
            plan.wake()
            return true
        }
        finished.append(FinishedJob(job: running.job, verdict: verdict, isInDoubt: isInDoubt))
        plan.finished += 1
        if plan.oldestFinish == nil { plan.oldestFinish = now }
        return plan.finished == 1 || plan.running == 0 || plan.finished == plan.worthAStatement
    }

    /// Takes the outcomes that the next exchange writes.
    mutating func takeFinished(now: Instant) -> [FinishedJob] {
        if let until = plan.lockedUntil, until <= now { unlock() }
        let batch = Array(finished.prefix(plan.batch))
        finished.removeFirst(batch.count)
        return batch
    }

    /// Takes all outcomes still to be written, at the end.
    mutating func takeAllFinished() -> [FinishedJob] {
        unlock()
        defer { finished = [] }
        return finished
    }

    private mutating func unlock() {
        finished.insert(contentsOf: locked, at: 0)
        plan.finished += locked.count
        locked = []
        plan.locked = 0
        plan.lockedUntil = nil
    }

    /// How many handlers continue although they were told to stop before `instant` and have lost their jobs.
    ///
    /// Each keeps a slot until it stops, perhaps forever.
    func abandoned(toldBefore instant: Instant) -> Int {
        jobs.count { job, running in isAbandoned(job, running, toldBefore: instant) }
    }

    private func isAbandoned(_ job: JobLease, _ running: RunningJob, toldBefore instant: Instant) -> Bool {
        book.entries[job] == nil && running.stoppedAt.map { $0 < instant } == true
    }

    /// Records outcomes that the exchange wrote, or that can no longer be written.
    mutating func wrote(_ batch: [FinishedJob], now: Instant) {
        for done in batch { book.settled(done.job.leased) }
        plan.finished -= batch.count
        plan.oldestFinish = finished.isEmpty ? nil : now
        // The claim that followed the end of the job still counted it under its limit.
        if batch.contains(where: \.wasLocked) { plan.wake() }
    }

    /// Sets aside outcomes whose rows other sessions have locked, so that nothing else waits for them.
    mutating func setAside(_ batch: [FinishedJob], now: Instant) {
        guard !batch.isEmpty else { return }
        locked += batch.map { finished in
            var finished = finished
            finished.wasLocked = true
            return finished
        }
        plan.finished -= batch.count
        plan.locked = locked.count
        plan.lockedUntil = now.advanced(by: .seconds(1))
    }

    /// Puts outcomes back for the next exchange after one failed.
    mutating func putBack(_ batch: [FinishedJob], isInDoubt: Bool) {
        let batch = batch.map { finished in
            var finished = finished
            finished.isInDoubt = finished.isInDoubt || isInDoubt
            return finished
        }
        finished.insert(contentsOf: batch, at: 0)
    }
}
