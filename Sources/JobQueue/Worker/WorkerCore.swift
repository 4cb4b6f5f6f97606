/// The state of a worker: what it holds, what waits to be written, when it talks to the table.
///
/// A value under one lock.
struct WorkerCore: Sendable {
    typealias Instant = ContinuousClock.Instant

    var book: LeaseBook
    var plan: ExchangePlan
    var suspects = SuspectTurn()
    var parked: ParkedRounds
    /// Where claims of lanes without limits begin.
    var bounds = ClaimBounds()
    /// Where claims of lanes under limits begin, which come short for other reasons than that there is no more.
    var limitedBounds = LimitedBounds()
    var server = ServerContact()
    var worker: Int64?
    /// What it was called before it was taken for lost, until what is held under that name is given up.
    var formerWorker: Int64?
    var jobs: [JobLease: RunningJob] = [:]
    var finished: [FinishedJob] = []
    /// Finished jobs whose rows another session has locked.
    private var locked: [FinishedJob] = []
    /// What holds claims back by the last heartbeat, whether other workers' code or operators set it.
    private(set) var restrictions = ClaimRestrictions()
    /// Whether the last single slot was offered to the lanes without limits first.
    private var plainHadLastTurn = false
    var failures = 0
    /// How often in a row another session kept the locks of limits.
    var limitFailures = 0
    /// How many handlers that do not stop held all slots, if that is why the worker ends.
    var abandoned = 0
    /// Since when the worker ends.
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

    /// Whether the lanes without limits are asked first, which have what is left otherwise.
    ///
    /// Of a single slot nothing is left: those with and those without limits take turns.
    mutating func plainGoesFirst(claiming count: Int) -> Bool {
        guard count == 1 else { return false }
        plainHadLastTurn.toggle()
        return plainHadLastTurn
    }

    /// Takes over what holds claims back.
    ///
    /// True when it has changed: what waited for that may go on, and nobody tells of its jobs.
    mutating func learn(_ restrictions: ClaimRestrictions) -> Bool {
        guard restrictions != self.restrictions else { return false }
        self.restrictions = restrictions
        plan.wake()
        return true
    }

    /// Another session holds the locks of limits: their lanes are left out for a while, and nothing else waits.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - random: from 0.5 to 1, so that many workers do not come at once.
    mutating func limitsWereHeld(now: Instant, random: Double) {
        limitFailures += 1
        // Each look waits up to a second for the locks, and everything else waits with it.
        let wait = min(5, Double(1 << min(limitFailures, 3))) * random
        plan.limitsHeldUntil = now.advanced(by: .seconds(wait))
        limitedBounds = LimitedBounds()
    }

    /// What the exchange loop does next, where it claims no suspect.
    mutating func step(now: Instant) -> ExchangePlan.Step {
        plan.mayClaim = worker != nil && book.mayClaim(now: now) && suspects.allowsOrdinary
        plan.lookAgain(now: now)
        let step = plan.step(now: now)
        guard case .wait(let until) = step, let givesUpAt = suspects.givesUpAt, now < givesUpAt else { return step }
        return .wait(until: min(until ?? givesUpAt, givesUpAt))
    }

    /// Whether a job that must run alone is to be claimed now.
    ///
    /// It waits for no handler that goes on without its job, perhaps for good, since it was told to stop before
    /// `instant`.
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

    /// A handler is done.
    ///
    /// True when the exchange loop should look.
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
        // Its slot is free, and nothing is to be written.
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

    /// Takes what an exchange is going to write.
    mutating func takeFinished(now: Instant) -> [FinishedJob] {
        if let until = plan.lockedUntil, until <= now { unlock() }
        let batch = Array(finished.prefix(plan.batch))
        finished.removeFirst(batch.count)
        return batch
    }

    /// Takes all that is to be written, at the end.
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

    /// How many handlers go on although they were told to stop before `instant` and their jobs were taken from them.
    ///
    /// Each of them keeps a slot until it stops, and perhaps for good.
    func abandoned(toldBefore instant: Instant) -> Int {
        jobs.count { job, running in isAbandoned(job, running, toldBefore: instant) }
    }

    private func isAbandoned(_ job: JobLease, _ running: RunningJob, toldBefore instant: Instant) -> Bool {
        book.entries[job] == nil && running.stoppedAt.map { $0 < instant } == true
    }

    /// The exchange wrote them, or learned that it could not.
    mutating func wrote(_ batch: [FinishedJob], now: Instant) {
        for done in batch { book.settled(done.job.leased) }
        plan.finished -= batch.count
        plan.oldestFinish = finished.isEmpty ? nil : now
    }

    /// Other sessions have their rows locked: they wait for a while, and nothing else waits for them.
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

    /// The exchange failed: they wait for the next.
    mutating func putBack(_ batch: [FinishedJob], isInDoubt: Bool) {
        let batch = batch.map { finished in
            var finished = finished
            finished.isInDoubt = finished.isInDoubt || isInDoubt
            return finished
        }
        finished.insert(contentsOf: batch, at: 0)
    }
}
