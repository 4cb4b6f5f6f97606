/// When the worker talks to the table, and what about: a value that decides.
///
/// Under load it waits until half a batch is worth a statement; alone it waits for nothing.
struct ExchangePlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable, Hashable {
        /// Wait until something happens, or until this instant.
        case wait(until: Instant?)
        /// Write what is finished, and claim up to this many jobs.
        case exchange(claim: Int)
        /// Nothing is left to do, ever.
        case end
    }

    let slots: Int
    let batch: Int
    let linger: Duration

    /// Jobs whose handlers run.
    var running = 0
    /// Outcomes that wait to be written.
    var finished = 0
    /// Since when the first of them waits.
    var oldestFinish: Instant?
    /// Whether there may be jobs to claim: somebody said so, or the last claim came back full.
    var isHungry = true
    /// Whether claims are allowed: trusted, not stopping, not making room for a job that must run alone.
    var mayClaim = true
    var isStopping = false
    /// Whether the run ends when nothing is to be had.
    var endsWhenIdle = false
    /// Not before this instant, after a failure.
    var pausedUntil: Instant?

    func step(now: Instant) -> Step {
        if let pausedUntil, now < pausedUntil { return .wait(until: pausedUntil) }
        let free = max(0, slots - running - finished)
        let wants = isHungry && mayClaim && !isStopping
        if finished > 0 {
            let due = oldestFinish.map { $0.advanced(by: linger) } ?? now
            // A statement's worth is there, or nothing else is going to join, or the first has waited long enough.
            if finished >= min(batch, max(1, slots / 2)) || running == 0 || due <= now {
                return .exchange(claim: wants ? min(batch, free + min(finished, batch)) : 0)
            }
            if wants, free > 0, running + finished < slots / 2 { return .exchange(claim: min(batch, free)) }
            return .wait(until: due)
        }
        // A few free slots among many are not worth a claim of their own while others are about to join them.
        if wants, free > 0 { return .exchange(claim: min(batch, free)) }
        if running == 0, isStopping || (endsWhenIdle && !isHungry) { return .end }
        return .wait(until: nil)
    }
}
