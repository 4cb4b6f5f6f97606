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

/// What a worker process holds, and how long it may trust that it does: a value that decides, without clock or database.
///
/// The worker trusts its leases until `lifetime` after the *sending* of the last heartbeat that was answered: the server,
/// which counts from its later receipt, gives them to others no earlier. Times are by a clock that counts suspension.
struct LeaseBook: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Entry: Sendable, Hashable {
        let id: Int64
        let deadline: Instant
        /// False once its handler is done and its outcome waits to be written.
        var isRunning = true
        var stop: StopReason?
    }

    /// A handler to stop.
    struct Stop: Sendable, Hashable {
        let lease: Int64
        let reason: StopReason
    }

    /// A heartbeat that was sent, and what is to be remembered of that moment.
    struct SentBeat: Sendable {
        let at: Instant
        let ids: [Int64]
        let leases: [Int64]
        /// Whether jobs unknown here may be taken for ones whose claim was lost: no claim has been on its way since before the
        /// last answer came in.
        let mayRelease: Bool
        let generation: Int
    }

    let lifetime: Duration
    private(set) var entries: [Int64: Entry] = [:]
    private(set) var trustedUntil: Instant
    private var claimsUnderWay: [Int: Instant] = [:]
    private var claimSerial = 0
    /// When the last answer to a heartbeat came in.
    private var lastAnswer: Instant?
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

    /// Ends the trust in all leases: they are about to be handed back, and a handler left behind must begin nothing more.
    mutating func endTrust(now: Instant) { trustedUntil = min(trustedUntil, now) }

    /// A claim is about to be sent; the number belongs to ``claimReturned(_:_:sentIn:now:)``.
    mutating func claimSent(now: Instant) -> Int {
        claimSerial += 1
        claimsUnderWay[claimSerial] = now
        return claimSerial
    }

    /// A claim came back with these jobs, or failed with none.
    ///
    /// Returns whether they may be run: not when the trust ended meanwhile; then they are to be released.
    mutating func claimReturned(
        _ number: Int,
        _ jobs: [(id: Int64, lease: Int64, deadline: Instant)],
        sentIn generation: Int,
        now: Instant
    ) -> Bool {
        claimsUnderWay[number] = nil
        guard generation == self.generation, trusts(now: now) else { return false }
        for job in jobs { entries[job.lease] = Entry(id: job.id, deadline: job.deadline) }
        return true
    }

    /// A handler is done.
    ///
    /// Nil when its lease was lost meanwhile: nothing is to be written.
    mutating func handlerDone(lease: Int64) -> Entry? {
        guard var entry = entries[lease] else { return nil }
        entry.isRunning = false
        entries[lease] = entry
        return entry
    }

    /// The outcome was written, or found to be not ours to write.
    mutating func settled(lease: Int64) {
        entries[lease] = nil
    }

    /// Tells one handler to stop.
    ///
    /// False when it is told already or is not running.
    mutating func stop(lease: Int64, _ reason: StopReason) -> Bool {
        guard var entry = entries[lease], entry.isRunning, entry.stop == nil else { return false }
        entry.stop = reason
        entries[lease] = entry
        return true
    }

    /// What a heartbeat sent now carries.
    func beat(now: Instant) -> SentBeat {
        // A claim sent after an answer came in was made after the server's time in that answer. One sent before, though
        // after the heartbeat was sent, may have been made earlier: found by simulation.
        let isSettled = lastAnswer.map { last in claimsUnderWay.values.allSatisfy { $0 >= last } } ?? false
        return SentBeat(
            at: now,
            ids: entries.values.map(\.id),
            leases: entries.keys.map { $0 },
            mayRelease: isSettled,
            generation: generation
        )
    }

    /// A heartbeat was answered.
    ///
    /// Returns the handlers to stop.
    mutating func answered(
        _ beat: SentBeat,
        isKnown: Bool,
        held: Set<Int64>,
        cancelled: Set<Int64>,
        now: Instant
    ) -> [Stop] {
        guard beat.generation == generation else { return [] }
        guard isKnown else { return loseAll() }
        trustedUntil = max(trustedUntil, beat.at.advanced(by: lifetime))
        lastAnswer = now
        var stops: [Stop] = []
        for lease in beat.leases {
            guard let entry = entries[lease] else { continue }
            if !held.contains(lease) {
                // One whose outcome is being written leaves the table by that; the writing tells how it went.
                guard entry.isRunning else { continue }
                entries[lease] = nil
                stops.append(Stop(lease: lease, reason: .leaseLost))
            } else if cancelled.contains(lease), stop(lease: lease, .cancelRequested) {
                stops.append(Stop(lease: lease, reason: .cancelRequested))
            }
        }
        return stops
    }

    /// Time went by.
    ///
    /// Returns the handlers to stop: all when the trust is over, else those past their deadline.
    mutating func tick(now: Instant) -> [Stop] {
        guard trusts(now: now) else { return entries.isEmpty ? [] : loseAll() }
        var stops: [Stop] = []
        for (lease, entry) in entries where entry.isRunning && entry.deadline <= now && entry.stop == nil {
            if stop(lease: lease, .deadline) { stops.append(Stop(lease: lease, reason: .deadline)) }
        }
        return stops
    }

    /// The worker ends and waits no longer.
    ///
    /// Returns the handlers to stop.
    mutating func stopAll() -> [Stop] {
        var stops: [Stop] = []
        for lease in entries.keys where stop(lease: lease, .shutdown) {
            stops.append(Stop(lease: lease, reason: .shutdown))
        }
        return stops
    }

    /// Everything held is lost.
    ///
    /// Outcomes that wait to be written stay: the fence in the table decides about them.
    private mutating func loseAll() -> [Stop] {
        generation += 1
        let running = entries.filter(\.value.isRunning).keys
        for lease in running { entries[lease] = nil }
        return running.map { Stop(lease: $0, reason: .leaseLost) }
    }
}
