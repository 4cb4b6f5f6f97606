/// Where claims may begin, per lane and priority, so that they do not walk over the dead rows of jobs taken long ago.
///
/// While some session holds an old snapshot, no vacuum can remove those, and a claim that begins at the start of the
/// index walks over all of them. A job may appear below a bound (its transaction began early and committed late, or it
/// was handed back); a claim without bounds, due once per ``fullScanInterval``, finds it.
package struct ClaimBounds: Sendable {
    /// One lane and priority.
    package struct Key: Hashable, Sendable {
        let lane: Lane.Name
        let priority: Int16
    }

    let fullScanInterval: Duration
    private var bounds: [Key: Int64] = [:]
    private var lastFullScan: ContinuousClock.Instant?
    /// By kind, the limit keys for which jobs were set aside; forgotten with the bounds.
    private(set) var waiting: [String: WaitingKeys] = [:]

    /// Bounds that are forgotten once per interval.
    package init(fullScanInterval: Duration = .seconds(1)) {
        self.fullScanInterval = fullScanInterval
    }

    /// The bounds to claim from, in microseconds since 1970; nil when a claim without bounds is due.
    ///
    /// Bounds only serve a worker that is behind: one whose last claim found nothing looks at everything.
    package mutating func bounds(now: ContinuousClock.Instant) -> [Key: Int64]? {
        guard let lastFullScan, now - lastFullScan < fullScanInterval else { return nil }
        return bounds
    }

    /// Takes note of a claim: its jobs, whether it was full, and whether it had bounds.
    package mutating func claimed(_ jobs: [ClaimedJob], isFull: Bool, wasBounded: Bool, now: ContinuousClock.Instant) {
        if !wasBounded {
            lastFullScan = now
            bounds = [:]
            waiting = [:]
        }
        // Short: look at everything next time. A bounded claim that found nothing may have passed over what lies below.
        guard isFull else {
            bounds = [:]
            lastFullScan = nil
            return
        }
        for job in jobs {
            passed(Key(lane: Lane.Name(queue: job.queue, kind: job.kind), priority: job.priority), at: job.readyAt)
        }
    }

    /// Takes note of a claim from lanes under limits, which looks below the bounds by itself where one of them comes
    /// short.
    ///
    /// The next one goes on behind what a claim has set aside that was cut, however long that took: beginning from the
    /// start each time it would not come far.
    mutating func claimed(
        _ claim: LimitedClaim,
        wasBounded: Bool,
        now: ContinuousClock.Instant,
        endedAt: ContinuousClock.Instant
    ) {
        claimed(claim.jobs, isFull: true, wasBounded: wasBounded, now: claim.isCut ? endedAt : now)
        for (key, readyAt) in claim.parked { passed(key, at: readyAt) }
        waiting.merge(claim.waiting) { $1 }
    }

    private mutating func passed(_ key: Key, at readyAt: Int64) {
        bounds[key] = max(bounds[key] ?? .min, readyAt)
    }
}
