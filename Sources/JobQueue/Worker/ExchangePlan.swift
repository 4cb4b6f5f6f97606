/// Decides when the worker talks to the table, and what it writes and claims: a pure value.
///
/// Under load it waits until ``worthAStatement`` outcomes have gathered; with no other job running it waits for
/// nothing.
struct ExchangePlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable, Hashable {
        /// Wait until something happens, or until this instant.
        case wait(until: Instant?)
        /// Write what is finished, and claim up to this many jobs.
        case exchange(claim: Int, from: ClaimScope)
        /// End: nothing is left to do.
        case end
    }

    let slots: Int
    /// Further slots, for urgent jobs alone.
    let reserve: Int
    let batch: Int
    let linger: Duration

    /// How many jobs have a running handler.
    var running = 0
    /// How many outcomes wait to be written.
    var finished = 0
    /// Since when the oldest of them waits.
    var oldestFinish: Instant?
    /// How many outcomes cannot be written because another session has their rows locked; they keep their slots.
    var locked = 0
    /// When these are retried.
    var lockedUntil: Instant?
    /// Whether there may be jobs to claim: a notification came, or the last claim came back full.
    private(set) var isHungry = true
    /// Whether there may be urgent jobs to claim: a claim for the reserved slots only says whether more of these are
    /// left.
    private var isHungryForUrgent = true
    /// Whether claims are allowed: the worker is registered, its leases are trusted, and it makes no room for a job
    /// that must run alone.
    var mayClaim = true
    var isStopping = false
    /// Whether the run ends when there is nothing to claim.
    var endsWhenIdle = false
    /// After a failure, the instant before which nothing is sent.
    var pausedUntil: Instant?
    /// Until when lanes under limits are left out because another session holds the locks of their limits.
    var limitsHeldUntil: Instant?

    /// When to claim again because other claims had locked jobs that the last one chose, or because the last one did
    /// not search everything.
    private var againAt: Instant?
    private var wasInVain = false

    init(slots: Int, reserve: Int = 0, batch: Int, linger: Duration) {
        self.slots = slots
        self.reserve = reserve
        self.batch = batch
        self.linger = linger
    }

    /// How many more jobs may run, not counting the reserve; negative once urgent jobs use the reserve.
    var freeSlots: Int { slots - running - finished - locked }

    /// How many finished jobs are written without waiting for more.
    var worthAStatement: Int { min(batch, max(1, slots / 2)) }

    func step(now: Instant) -> Step {
        if let pausedUntil, now < pausedUntil { return .wait(until: pausedUntil) }
        if finished > 0 {
            let due = oldestFinish.map { $0.advanced(by: linger) } ?? now
            // Enough for a statement, or no other outcome will join, or the oldest has waited long enough.
            if finished >= worthAStatement || running == 0 || due <= now {
                return claim(leaving: min(finished, batch)) ?? .exchange(claim: 0, from: .all)
            }
            // A few free slots among many are not worth a claim of their own while others are about to join them.
            if running + finished < slots / 2, let claim = claim(leaving: 0) { return claim }
            return .wait(until: due)
        }
        if let claim = claim(leaving: 0) { return claim }
        if let lockedUntil, lockedUntil <= now { return .exchange(claim: 0, from: .all) }
        let isIdle = endsWhenIdle && !isHungry && nextLook == nil
        if running == 0, lockedUntil == nil, isStopping || isIdle { return .end }
        return .wait(until: [lockedUntil, mayClaim && !isStopping ? nextLook : nil].compactMap(\.self).min())
    }

    /// When to claim again without a notification.
    private var nextLook: Instant? { [againAt, limitsHeldUntil].compactMap(\.self).min() }

    /// What to claim if so many outcomes free their slots at the same time; nil for nothing.
    private func claim(leaving: Int) -> Step? {
        guard mayClaim, !isStopping else { return nil }
        let free = freeSlots + leaving
        if isHungry, free > 0 { return .exchange(claim: min(batch, free), from: .all) }
        guard reserve > 0, isHungryForUrgent, free + reserve > 0 else { return nil }
        return .exchange(claim: min(batch, free + reserve), from: .urgent)
    }

    /// Records that a claim took so many jobs of lanes without limits; `isCut` if these were fewer than it chose.
    mutating func claimed(_ count: Int, isCut: Bool, now: Instant) {
        // Jobs that other claims have locked are soon theirs, and the next claim chooses from the rest. Two claims in
        // vain mean that somebody keeps the locks for longer.
        if isCut, count > 0 || !wasInVain { looks(at: now.advanced(by: .milliseconds(20))) }
        wasInVain = isCut && count == 0
    }

    /// Schedules the next claim for this instant at the latest.
    mutating func looks(at instant: Instant) { againAt = min(instant, againAt ?? instant) }

    /// Wakes if it is time to claim again.
    mutating func lookAgain(now: Instant) {
        if let againAt, againAt <= now { wake() }
        if let limitsHeldUntil, limitsHeldUntil <= now {
            self.limitsHeldUntil = nil
            wake()
        }
    }

    /// Whether no job runs and no outcome waits to be written.
    var holdsNothing: Bool { running == 0 && finished == 0 && locked == 0 }

    /// Records that there may be jobs to claim.
    mutating func wake() {
        againAt = nil
        isHungry = true
        isHungryForUrgent = true
    }

    /// Records that a claim is being sent: notifications from now on call for another.
    mutating func claimSent(from scope: ClaimScope) {
        switch scope {
        case .all:
            isHungry = false
            isHungryForUrgent = false
            againAt = nil
        case .urgent: isHungryForUrgent = false
        // A claim of suspects says nothing about other jobs, which have waited for its end.
        case .suspects: break
        }
    }

    /// Records that a claim came back full, or did not search everything.
    mutating func leftSome(of scope: ClaimScope) {
        if scope != .urgent { isHungry = true }
        isHungryForUrgent = true
    }
}

/// The kinds of jobs that a claim takes.
enum ClaimScope: Sendable, Hashable {
    /// Jobs that no process died under.
    case all
    /// Urgent jobs that no process died under, while all other slots are taken.
    case urgent
    /// Jobs that a process died under.
    case suspects
}
