/// Why a running handler is told to stop.
enum StopReason: Sendable, Hashable {
    /// The job is somebody else's, or nobody's: whatever the handler still does must not be written.
    case leaseLost
    /// Its time is over.
    case deadline
    /// An operator cancelled it.
    case cancelRequested
    /// The worker ends.
    case shutdown
}

/// What a worker process holds, and how long it may trust that it does: a value that decides, without clock or
/// database.
///
/// The worker trusts its leases until `lifetime` after the *sending* of the last heartbeat that was answered: the
/// server, which counts from its later receipt, gives them to others no earlier. Times are by a clock that counts
/// suspension.
struct LeaseBook: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Entry: Sendable, Hashable {
        let deadline: Instant
        /// False once its handler is done and its outcome waits to be written.
        var isRunning = true
        var stop: StopReason?
    }

    /// A handler to stop.
    struct Stop: Sendable, Hashable {
        let job: JobLease
        let reason: StopReason
    }

    /// A heartbeat that was sent, and what is to be remembered of that moment.
    struct SentBeat: Sendable {
        let at: Instant
        let jobs: [JobLease]
        /// Jobs unknown here under leases up to this one are ones whose claim was lost; nil while a claim is on its way
        /// since before the last answer came in.
        let releasesUpTo: Int64?
        let generation: Int
    }

    /// What was the last of its kind when the last heartbeat was answered.
    private struct Answered {
        /// The newest lease of all.
        let lease: Int64
        /// The last claim that had been sent before the answer came in.
        let claim: Int
    }

    let lifetime: Duration
    private(set) var entries: [JobLease: Entry] = [:]
    private(set) var trustedUntil: Instant
    private var claimsUnderWay: Set<Int> = []
    private var claimSerial = 0
    /// Nil before the first answer.
    private var lastAnswer: Answered?
    /// Raised when everything held was lost at once; what was sent before says nothing any more.
    private(set) var generation = 0

    /// A book that trusts nothing until ``registered(sentAt:)``.
    init(lifetime: Duration, now: Instant) {
        self.lifetime = lifetime
        trustedUntil = now
    }

    /// The worker got an id by a statement sent at `sentAt`.
    mutating func registered(sentAt: Instant) {
        trustedUntil = sentAt.advanced(by: lifetime)
        lastAnswer = nil
    }

    /// Whether a claim may be sent.
    ///
    /// Not in the last third of the trust: it might come back too late to be used.
    func mayClaim(now: Instant) -> Bool {
        now.advanced(by: lifetime / 3) < trustedUntil
    }

    func trusts(now: Instant) -> Bool { now < trustedUntil }

    /// Until when nobody else can be given the job, its deadline aside; nil when it is lost already.
    ///
    /// The trust of others that were claimed later is none in this one.
    func trust(in job: JobLease) -> Instant? { entries[job] == nil ? nil : trustedUntil }

    /// Ends the trust in all leases: they are about to be handed back, and a handler left behind must begin nothing
    /// more.
    mutating func endTrust(now: Instant) { trustedUntil = min(trustedUntil, now) }

    /// A claim is about to be sent; the number belongs to ``claimReturned(_:_:sentIn:now:)``.
    mutating func claimSent() -> Int {
        claimSerial += 1
        claimsUnderWay.insert(claimSerial)
        return claimSerial
    }

    /// A claim came back with these jobs, or failed with none.
    ///
    /// Returns whether they may be run: not when the trust ended meanwhile; then they are to be released.
    mutating func claimReturned(
        _ number: Int,
        _ jobs: [(job: JobLease, deadline: Instant)],
        sentIn generation: Int,
        now: Instant
    ) -> Bool {
        claimsUnderWay.remove(number)
        guard generation == self.generation, trusts(now: now) else { return false }
        for (job, deadline) in jobs { entries[job] = Entry(deadline: deadline) }
        return true
    }

    /// A handler is done.
    ///
    /// Nil when its lease was lost meanwhile: nothing is to be written.
    mutating func handlerDone(_ job: JobLease) -> Entry? {
        guard var entry = entries[job] else { return nil }
        entry.isRunning = false
        entries[job] = entry
        return entry
    }

    /// The outcome was written, or found to be not ours to write.
    mutating func settled(_ job: JobLease) {
        entries[job] = nil
    }

    /// Tells one handler to stop.
    ///
    /// False when it is told already or is not running.
    mutating func stop(_ job: JobLease, _ reason: StopReason) -> Bool {
        guard var entry = entries[job], entry.isRunning, entry.stop == nil else { return false }
        entry.stop = reason
        entries[job] = entry
        return true
    }

    /// What a heartbeat sent now carries.
    func beat(now: Instant) -> SentBeat {
        // A claim sent after an answer came in got later leases than the last one in that answer. One sent before, though
        // after the heartbeat was sent, may have got earlier ones: found by simulation.
        let settled = lastAnswer.flatMap { last in
            claimsUnderWay.allSatisfy { $0 > last.claim } ? last.lease : nil
        }
        return SentBeat(at: now, jobs: Array(entries.keys), releasesUpTo: settled, generation: generation)
    }

    /// A heartbeat was answered, when `lastLease` was the newest lease of all.
    ///
    /// `held` are the jobs that nobody else can have: they are held, or ended under their leases.
    ///
    /// Returns the handlers to stop.
    mutating func answered(
        _ beat: SentBeat,
        held: Set<JobLease>,
        cancelled: Set<JobLease>,
        lastLease: Int64
    ) -> [Stop] {
        guard beat.generation == generation else { return [] }
        trustedUntil = max(trustedUntil, beat.at.advanced(by: lifetime))
        lastAnswer = Answered(lease: lastLease, claim: claimSerial)
        var stops: [Stop] = []
        for job in beat.jobs {
            guard let entry = entries[job] else { continue }
            if !held.contains(job) {
                // A job whose outcome is being written leaves the table by that; the write tells how it went.
                guard entry.isRunning else { continue }
                entries[job] = nil
                stops.append(Stop(job: job, reason: .leaseLost))
            } else if cancelled.contains(job), stop(job, .cancelRequested) {
                stops.append(Stop(job: job, reason: .cancelRequested))
            }
        }
        return stops
    }

    /// A heartbeat was answered: the worker is known no longer, and holds nothing.
    ///
    /// Returns the handlers to stop.
    mutating func disowned(_ beat: SentBeat) -> [Stop] {
        beat.generation == generation ? loseAll() : []
    }

    /// Time went by.
    ///
    /// Returns the handlers to stop: all when the trust is over, else those past their deadline.
    mutating func tick(now: Instant) -> [Stop] {
        guard trusts(now: now) else {
            // Only while handlers run: each time makes the answers to heartbeats under way void, and outcomes may wait
            // to be written for long.
            return entries.values.contains(where: \.isRunning) ? loseAll() : []
        }
        var stops: [Stop] = []
        for (job, entry) in entries where entry.isRunning && entry.deadline <= now && entry.stop == nil {
            if stop(job, .deadline) { stops.append(Stop(job: job, reason: .deadline)) }
        }
        return stops
    }

    /// The jobs whose handlers go on although their deadline lies further back than `grace`.
    func overdue(by grace: Duration, now: Instant) -> [JobLease] {
        entries.filter { $0.value.isRunning && $0.value.deadline.advanced(by: grace) < now }.map(\.key)
    }

    /// The worker ends and waits no longer.
    ///
    /// Returns the handlers to stop.
    mutating func stopAll() -> [Stop] {
        var stops: [Stop] = []
        for job in entries.keys where stop(job, .shutdown) {
            stops.append(Stop(job: job, reason: .shutdown))
        }
        return stops
    }

    /// Everything held is lost.
    ///
    /// Outcomes that wait to be written stay: the fence in the table decides about them.
    private mutating func loseAll() -> [Stop] {
        generation += 1
        let running = entries.filter(\.value.isRunning).keys
        for job in running { entries[job] = nil }
        return running.map { Stop(job: $0, reason: .leaseLost) }
    }
}
