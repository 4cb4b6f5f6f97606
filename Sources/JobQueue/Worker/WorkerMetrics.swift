import CoreMetrics
import Synchronization

/// The metrics of a worker; `GET /metrics` describes each.
final class WorkerMetrics: Sendable {
    struct Kind: Sendable {
        let run: Timer
        let wait: Timer
        let exhausted: Counter
        let finished: [Told: Counter]

        init(_ kind: String, _ factory: any MetricsFactory) {
            run = Timer(label: "jobs_run_seconds", dimensions: [("kind", kind)], factory: factory)
            wait = Timer(label: "jobs_wait_seconds", dimensions: [("kind", kind)], factory: factory)
            exhausted = Counter(label: "jobs_exhausted_total", dimensions: [("kind", kind)], factory: factory)
            finished = Dictionary(
                uniqueKeysWithValues: Told.allCases.map { outcome in
                    let dimensions = [("kind", kind), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: "jobs_finished_total", dimensions: dimensions, factory: factory))
                }
            )
        }
    }

    private struct QueueState: Hashable {
        let queue: String
        let state: JobState
    }

    /// How an attempt ended, as it is counted.
    enum Told: String, CaseIterable {
        case completed, cancelled, discarded, retried, snoozed, parked, released

        init(_ outcome: JobQueue.Ending.Outcome) {
            switch outcome {
            case .completed: self = .completed
            case .cancelled: self = .cancelled
            case .discarded: self = .discarded
            }
        }
    }

    let kinds: [String: Kind]
    let leasesLost: Counter
    let rescued: Counter
    let overdue: Counter
    let running: Gauge
    let abandoned: Gauge
    private let oldestSnapshot: Gauge
    private let oldestXminAge: Gauge
    private let deadRows: Gauge
    private let defaultRows: Gauge
    private let factory: any MetricsFactory
    /// The series of queues reported so far: those that are empty by now must be reported as 0.
    private let told: Mutex<Set<QueueState>>

    /// Creates every series of these kinds and queues at once: an alert on a series that does not exist yet would never
    /// fire.
    init(kinds: [String], queues: Set<String>, factory: any MetricsFactory) {
        self.kinds = Dictionary(uniqueKeysWithValues: kinds.map { ($0, Kind($0, factory)) })
        self.factory = factory
        leasesLost = Counter(label: "jobs_leases_lost_total", factory: factory)
        rescued = Counter(label: "jobs_rescued_total", factory: factory)
        overdue = Counter(label: "jobs_overdue_total", factory: factory)
        running = Gauge(label: "jobs_running", factory: factory)
        abandoned = Gauge(label: "jobs_abandoned", factory: factory)
        oldestSnapshot = Gauge(label: "jobs_oldest_snapshot_seconds", factory: factory)
        oldestXminAge = Gauge(label: "jobs_oldest_xmin_age", factory: factory)
        deadRows = Gauge(label: "jobs_dead_rows", factory: factory)
        defaultRows = Gauge(label: "jobs_history_default_rows", factory: factory)
        let all = queues.flatMap { queue in JobState.live.map { QueueState(queue: queue, state: $0) } }
        told = Mutex(Set(all))
    }

    /// Counts an outcome: that of `end` if the job ended so, whatever the verdict was.
    func finished(_ kind: String, _ verdict: Verdict, endedAs end: JobQueue.Ending.Outcome? = nil) {
        guard let kind = kinds[kind] else { return }
        if let end {
            kind.finished[Told(end)]?.increment()
            return
        }
        let outcome: Told
        switch verdict {
        case .end(let end, _, _, _): outcome = Told(end)
        case .giveBack(let next):
            outcome = next.givesAttemptBack ? .snoozed : .retried
            if next.isExhausted { kind.exhausted.increment() }
        case .park: outcome = .parked
        case .release: outcome = .released
        case .nothing: return
        }
        kind.finished[outcome]?.increment()
    }

    /// Records the current figures of the tables, and which queues are paused.
    func record(_ figures: JobFigures, paused: Set<String>) {
        // Names written by hand may be encoded in two ways that compare equal in Swift.
        let counts = Dictionary(
            figures.depths.map { (QueueState(queue: $0.queue, state: $0.state), $0.count) },
            uniquingKeysWith: +
        )
        let series = told.withLock { told in
            told.formUnion(counts.keys)
            return told
        }
        for entry in series {
            let dimensions = [("queue", entry.queue), ("state", entry.state.rawValue)]
            Gauge(label: "jobs_depth", dimensions: dimensions, factory: factory).record(counts[entry] ?? 0)
        }
        for queue in Set(series.map(\.queue)) {
            Gauge(label: "jobs_oldest_ready_seconds", dimensions: [("queue", queue)], factory: factory)
                .record(figures.oldestReady[queue] ?? 0)
            Gauge(label: "jobs_queue_paused", dimensions: [("queue", queue)], factory: factory)
                .record(paused.contains(queue) ? 1 : 0)
        }
        oldestSnapshot.record(figures.oldestSnapshot)
        oldestXminAge.record(figures.oldestXminAge)
        deadRows.record(figures.deadRows)
        defaultRows.record(figures.defaultRows)
    }
}
