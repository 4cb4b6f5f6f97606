/// Where claims from lanes under limits may begin, like ``ClaimBounds`` for the others, and which of their limit keys
/// have waiting jobs.
///
/// Such a claim may find too few jobs even if there are more, and then searches below the bounds itself.
struct LimitedBounds: Sendable {
    let fullScanInterval: Duration
    private var start = ClaimBounds.Start()
    private var lastFullScan: ContinuousClock.Instant?
    /// The limit keys with parked jobs, by kind; dropped with the bounds.
    private(set) var waiting: [String: WaitingKeys] = [:]

    /// Creates bounds that are dropped once per interval.
    init(fullScanInterval: Duration = .seconds(1)) {
        self.fullScanInterval = fullScanInterval
    }

    /// Where to claim from; nil if a claim without bounds is due.
    func bounds(now: ContinuousClock.Instant) -> ClaimBounds.Start? {
        guard let lastFullScan, now - lastFullScan < fullScanInterval else { return nil }
        return start
    }

    /// Records a claim.
    ///
    /// After a claim that was cut short, the next continues behind the jobs that it parked, however long that took:
    /// starting from the beginning each time would not get far.
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
