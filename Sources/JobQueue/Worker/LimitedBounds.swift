/// Where claims from lanes under limits may begin, as ``ClaimBounds`` tells for the others, and for which of their keys
/// jobs wait.
///
/// Such a claim comes short for other reasons than that there is no more, and then looks below the bounds by itself.
struct LimitedBounds: Sendable {
    let fullScanInterval: Duration
    private var start = ClaimBounds.Start()
    private var lastFullScan: ContinuousClock.Instant?
    /// The limit keys for which jobs were set aside, by kind; forgotten with the bounds.
    private(set) var waiting: [String: WaitingKeys] = [:]

    /// Bounds that are forgotten once per interval.
    init(fullScanInterval: Duration = .seconds(1)) {
        self.fullScanInterval = fullScanInterval
    }

    /// Where to claim from; nil when a claim without bounds is due.
    func bounds(now: ContinuousClock.Instant) -> ClaimBounds.Start? {
        guard let lastFullScan, now - lastFullScan < fullScanInterval else { return nil }
        return start
    }

    /// Takes note of a claim.
    ///
    /// The next one goes on behind what a claim has set aside that was cut, however long that took: beginning from the
    /// start each time it would not come far.
    mutating func claimed(
        _ claim: LimitedClaim,
        wasBounded: Bool,
        now: ContinuousClock.Instant,
        endedAt: ContinuousClock.Instant
    ) {
        if !wasBounded {
            lastFullScan = claim.isCut ? endedAt : now
            start = ClaimBounds.Start()
            waiting = [:]
        }
        start.passed(claim.jobs)
        for (key, readyAt) in claim.parked { start.passed(key, at: readyAt) }
        waiting.merge(claim.waiting) { $1 }
    }
}
