/// When the worker talks to the table, and what about: a value that decides.
///
/// Under load it waits until half a batch is worth a statement; alone it waits for nothing.
struct ExchangePlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable, Hashable {
        /// Wait until something happens, or until this instant.
        case wait(until: Instant?)
        /// Write what is finished, and claim up to this many jobs.
        case exchange(claim: Int, from: ClaimScope)
        /// Nothing is left to do, ever.
        case end
    }

    let slots: Int
    /// Further slots, for urgent jobs alone.
    let reserve: Int
    let batch: Int
    let linger: Duration

    /// Jobs whose handlers run.
    var running = 0
    /// Outcomes that wait to be written.
    var finished = 0
    /// Since when the first of them waits.
    var oldestFinish: Instant?
    /// Outcomes that cannot be written since another session has their rows locked; they keep their slots.
    var locked = 0
    /// When these are tried again.
    var lockedUntil: Instant?
    /// Whether there may be jobs to claim: somebody said so, or the last claim came back full.
    private(set) var isHungry = true
    /// Whether there may be urgent jobs to claim: a claim for the reserved slots answers for these only.
    private var isHungryForUrgent = true
    /// Whether claims are allowed: trusted, not stopping, not making room for a job that must run alone.
    var mayClaim = true
    var isStopping = false
    /// Whether the run ends when nothing is to be had.
    var endsWhenIdle = false
    /// Not before this instant, after a failure.
    var pausedUntil: Instant?
    /// Until when lanes under limits are left out, since another session keeps the locks of these.
    var limitsHeldUntil: Instant?

    /// When to look again, since other claims had their hands on what the last one chose, or since that did not look at
    /// everything.
    private var againAt: Instant?
    private var wasInVain = false

    init(slots: Int, reserve: Int = 0, batch: Int, linger: Duration) {
        self.slots = slots
        self.reserve = reserve
        self.batch = batch
        self.linger = linger
    }

    /// How many more jobs may run besides the urgent ones; less than none where these have taken their reserve.
    var freeSlots: Int { slots - running - finished - locked }

    /// How many finished jobs are written without waiting for more.
    var worthAStatement: Int { min(batch, max(1, slots / 2)) }

    func step(now: Instant) -> Step {
        if let pausedUntil, now < pausedUntil { return .wait(until: pausedUntil) }
        if finished > 0 {
            let due = oldestFinish.map { $0.advanced(by: linger) } ?? now
            // A statement's worth is there, or nothing else is going to join, or the first has waited long enough.
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

    /// When to look again though nobody says that there are jobs.
    private var nextLook: Instant? { [againAt, limitsHeldUntil].compactMap(\.self).min() }

    /// What to claim when so many outcomes leave their slots with it; nil for nothing.
    private func claim(leaving: Int) -> Step? {
        guard mayClaim, !isStopping else { return nil }
        let free = freeSlots + leaving
        if isHungry, free > 0 { return .exchange(claim: min(batch, free), from: .all) }
        guard reserve > 0, isHungryForUrgent, free + reserve > 0 else { return nil }
        return .exchange(claim: min(batch, free + reserve), from: .urgent)
    }

    /// A claim took so many jobs of lanes without limits, and got less than it chose where `isCut`.
    mutating func claimed(_ count: Int, isCut: Bool, now: Instant) {
        // Jobs that other claims have locked are soon theirs, and the next claim chooses from the rest. Two claims in
        // vain mean that somebody keeps the locks for longer.
        if isCut, count > 0 || !wasInVain { looks(at: now.advanced(by: .milliseconds(20))) }
        wasInVain = isCut && count == 0
    }

    /// There may be jobs to claim that can wait until then.
    mutating func looks(at instant: Instant) { againAt = min(instant, againAt ?? instant) }

    /// Wakes where the time has come to look again.
    mutating func lookAgain(now: Instant) {
        if let againAt, againAt <= now { wake() }
        if let limitsHeldUntil, limitsHeldUntil <= now {
            self.limitsHeldUntil = nil
            wake()
        }
    }

    /// Whether no job runs and no outcome waits to be written.
    var holdsNothing: Bool { running == 0 && finished == 0 && locked == 0 }

    /// There may be jobs to claim.
    mutating func wake() {
        againAt = nil
        isHungry = true
        isHungryForUrgent = true
    }

    /// A claim is sent: whoever says from now on that there are jobs wants another.
    mutating func claimSent(from scope: ClaimScope) {
        switch scope {
        case .all:
            isHungry = false
            isHungryForUrgent = false
            againAt = nil
        case .urgent: isHungryForUrgent = false
        // A claim of suspects says nothing of other jobs, which have waited for its end.
        case .suspects: break
        }
    }

    /// A claim came back full, or has not looked at everything.
    mutating func leftSome(of scope: ClaimScope) {
        if scope != .urgent { isHungry = true }
        isHungryForUrgent = true
    }
}

/// Which jobs a claim takes.
enum ClaimScope: Sendable, Hashable {
    /// Jobs that no process died under.
    case all
    /// Urgent jobs that no process died under, while all other slots are taken.
    case urgent
    /// Jobs that a process died under.
    case suspects
}
