/// Why a running handler is told to stop.
enum StopReason: Sendable, Hashable {
    /// The lease is lost: nothing that the handler still does may be written.
    case leaseLost
    /// The job's deadline has passed.
    case deadline
    /// An operator cancelled the job.
    case cancelRequested
    /// The worker is shutting down.
    case shutdown
}

/// The jobs that a worker process holds, and how long it may trust their leases: a pure value, without clock or
/// database.
///
/// The worker trusts its leases until `lifetime` after the *sending* of the last answered heartbeat. The server counts
/// from its later receipt, so it gives the jobs to others no earlier. The clock must count time in which the machine is
/// suspended.
struct LeaseBook: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Entry: Sendable, Hashable {
        let deadline: Instant
        /// False once its handler is done and its outcome waits to be written.
        var isRunning = true
        var stop: StopReason?
    }

    /// A handler to stop, with the reason.
    struct Stop: Sendable, Hashable {
        let job: JobLease
        let reason: StopReason
    }

    /// A heartbeat that was sent, and the state at that moment.
    struct SentBeat: Sendable {
        let at: Instant
        let jobs: [JobLease]
        /// The lease up to which held jobs that are unknown here are ones whose claim was lost; nil while a claim is
        /// under way that was sent before the last answer came in.
        let releasesUpTo: Int64?
        let generation: Int
    }

    /// The newest lease and claim when the last heartbeat was answered.
    private struct Answered {
        /// The newest lease given out to anyone.
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
    /// Incremented when all held jobs are lost at once; answers to anything sent before are void.
    private(set) var generation = 0

    /// Creates a book that trusts nothing until ``registered(sentAt:)``.
    init(lifetime: Duration, now: Instant) {
        self.lifetime = lifetime
        trustedUntil = now
    }

    /// Records that the worker was registered by a statement sent at `sentAt`.
    mutating func registered(sentAt: Instant) {
        trustedUntil = sentAt.advanced(by: lifetime)
        lastAnswer = nil
    }

    /// Whether a claim may be sent.
    ///
    /// No claim is sent in the last third of the trusted time: its answer might come too late to be used.
    func mayClaim(now: Instant) -> Bool {
        now.advanced(by: lifetime / 3) < trustedUntil
    }

    func trusts(now: Instant) -> Bool { now < trustedUntil }

    /// Until when nobody else can be given the job, regardless of its deadline; nil if it is already lost.
    ///
    /// For a lost job, the trust in jobs claimed later does not count.
    func trust(in job: JobLease) -> Instant? { entries[job] == nil ? nil : trustedUntil }

    /// Ends the trust in all leases: they are about to be handed back, and a handler that is left behind must not start
    /// anything more.
    mutating func endTrust(now: Instant) { trustedUntil = min(trustedUntil, now) }

    /// Records that a claim is about to be sent, and returns its number for ``claimReturned(_:_:sentIn:now:)``.
    mutating func claimSent() -> Int {
        claimSerial += 1
        claimsUnderWay.insert(claimSerial)
        return claimSerial
    }

    /// Records that a claim returned these jobs, or failed with none.
    ///
    /// Returns whether they may be run; if the trust ended meanwhile, they have to be released.
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

    /// Records that a handler has ended.
    ///
    /// Returns nil if the lease was lost meanwhile: nothing may be written.
    mutating func handlerDone(_ job: JobLease) -> Entry? {
        guard var entry = entries[job] else { return nil }
        entry.isRunning = false
        entries[job] = entry
        return entry
    }

    /// Records that the outcome was written, or may not be written by this worker.
    mutating func settled(_ job: JobLease) {
        entries[job] = nil
    }

    /// Tells one handler to stop.
    ///
    /// Returns false if it was already told to, or is not running.
    mutating func stop(_ job: JobLease, _ reason: StopReason) -> Bool {
        guard var entry = entries[job], entry.isRunning, entry.stop == nil else { return false }
        entry.stop = reason
        entries[job] = entry
        return true
    }

    /// The contents of a heartbeat sent now.
    func beat(now: Instant) -> SentBeat {
        // A claim sent after an answer came in gets later leases than the last one in that answer. A claim sent before
        // that, even if after the heartbeat was sent, may have got earlier ones: found by simulation.
        let settled = lastAnswer.flatMap { last in
            claimsUnderWay.allSatisfy { $0 > last.claim } ? last.lease : nil
        }
        return SentBeat(at: now, jobs: Array(entries.keys), releasesUpTo: settled, generation: generation)
    }

    /// Records the answer to a heartbeat; `lastLease` was the newest lease given out at that time.
    ///
    /// `held` are the jobs that nobody else can have: those held, and those ended under their leases.
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
                // A job whose outcome is being written leaves the table by that; the write itself reports its result.
                guard entry.isRunning else { continue }
                entries[job] = nil
                stops.append(Stop(job: job, reason: .leaseLost))
            } else if cancelled.contains(job), stop(job, .cancelRequested) {
                stops.append(Stop(job: job, reason: .cancelRequested))
            }
        }
        return stops
    }

    /// Records the answer that the worker is no longer registered, and so holds nothing.
    ///
    /// Returns the handlers to stop.
    mutating func disowned(_ beat: SentBeat) -> [Stop] {
        beat.generation == generation ? loseAll() : []
    }

    /// Checks the time against the trust and the deadlines.
    ///
    /// Returns the handlers to stop: all once the trust is over, else those past their deadline.
    mutating func tick(now: Instant) -> [Stop] {
        guard trusts(now: now) else {
            // Only while handlers run: each call voids the answers to heartbeats under way, and outcomes may wait long
            // to be written.
            return entries.values.contains(where: \.isRunning) ? loseAll() : []
        }
        var stops: [Stop] = []
        for (job, entry) in entries where entry.isRunning && entry.deadline <= now && entry.stop == nil {
            if stop(job, .deadline) { stops.append(Stop(job: job, reason: .deadline)) }
        }
        return stops
    }

    /// The jobs whose handlers continue although their deadline passed more than `grace` ago.
    func overdue(by grace: Duration, now: Instant) -> [JobLease] {
        entries.filter { $0.value.isRunning && $0.value.deadline.advanced(by: grace) < now }.map(\.key)
    }

    /// Tells all handlers to stop, because the worker ends.
    ///
    /// Returns the handlers to stop.
    mutating func stopAll() -> [Stop] {
        var stops: [Stop] = []
        for job in entries.keys where stop(job, .shutdown) {
            stops.append(Stop(job: job, reason: .shutdown))
        }
        return stops
    }

    /// Gives up everything held.
    ///
    /// Outcomes still to be written are kept: the fence in the table decides about them.
    private mutating func loseAll() -> [Stop] {
        generation += 1
        let running = entries.filter(\.value.isRunning).keys
        for job in running { entries[job] = nil }
        return running.map { Stop(job: $0, reason: .leaseLost) }
    }
}
