/// Where claims from lanes without limits may begin, per lane and priority, to skip the dead rows of jobs taken long
/// ago.
///
/// While some session holds an old snapshot, no vacuum can remove those rows, and a claim that begins at the start of
/// the index walks over all of them. A job may appear below a bound (its transaction began early and committed late, or
/// it was handed back); a claim without bounds, due once per ``fullScanInterval``, finds it.
///
/// A worker that keeps up needs no bounds as long as a full scan costs little. Once a full scan is noticeably slower
/// than the fastest claim, such a worker also begins a little below where the last claim ended.
package struct ClaimBounds: Sendable {
    /// One lane and priority.
    package struct Key: Hashable, Sendable {
        let lane: Lane.Name
        let priority: Int16
    }

    let fullScanInterval: Duration
    /// How much slower than the fastest claim a full scan is that walks over many dead rows.
    private let noticeable: Duration
    private var start = Start()
    private var lastFullScan: ContinuousClock.Instant?
    private var fastest: Duration?
    /// Whether the last full scan was noticeably slower than the fastest claim.
    private var isCostly = false

    /// How far below the newest job of a short claim the next one begins, in microseconds: a job that was ready earlier
    /// and commits only now waits for a full scan.
    private static let lateness: Int64 = 1_000_000

    /// Creates bounds that are dropped once per interval.
    package init(fullScanInterval: Duration = .seconds(1), noticeable: Duration = .milliseconds(5)) {
        self.fullScanInterval = fullScanInterval
        self.noticeable = noticeable
    }

    /// Where to claim from; nil if a claim without bounds is due.
    ///
    /// A worker whose last claim came back short searches everything, unless that was costly.
    package func bounds(now: ContinuousClock.Instant) -> Start? {
        guard let lastFullScan, now - lastFullScan < fullScanInterval else { return nil }
        return start
    }

    /// When a claim without bounds is due after one that came back short; nil for at once.
    var nextFullScan: ContinuousClock.Instant? { lastFullScan?.advanced(by: fullScanInterval) }

    /// Records a claim: its jobs, whether it was full, whether it had bounds, and how long it took if that measures the
    /// rows it had to walk over.
    package mutating func claimed(
        _ jobs: [ClaimedJob],
        isFull: Bool,
        wasBounded: Bool,
        took: Duration? = nil,
        now: ContinuousClock.Instant
    ) {
        if let took { fastest = min(took, fastest ?? took) }
        if !wasBounded {
            lastFullScan = now
            start.bounds = [:]
            // A full claim may have left jobs anywhere.
            if isFull { start.floor = 0 }
            if let took, let fastest { isCostly = took - fastest >= noticeable }
        }
        guard isFull else { return cameShort(jobs) }
        start.passed(jobs)
    }

    /// No visible job is left above the bounds; but a bounded claim may have skipped jobs below them.
    private mutating func cameShort(_ jobs: [ClaimedJob]) {
        start.bounds = [:]
        if let newest = jobs.map(\.readyAt).max() { start.floor = max(start.floor, newest - Self.lateness) }
        if !isCostly || start.floor == 0 {
            start.floor = 0
            lastFullScan = nil
        }
    }
}
