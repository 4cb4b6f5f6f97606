import Metrics

/// What a worker counts.
///
/// | metric | type | labels | meaning |
/// | --- | --- | --- | --- |
/// | jobs_finished_total | counter | kind, outcome | attempts that ended: completed, cancelled, discarded, retried, snoozed, parked, released |
/// | jobs_run_seconds | timer | kind | time in the handler |
/// | jobs_wait_seconds | timer | kind | from ready to claimed |
/// | jobs_leases_lost_total | counter | | outcomes refused since the lease was lost |
/// | jobs_exhausted_total | counter | kind | alarms of kinds without a last attempt |
/// | jobs_rescued_total | counter | | jobs taken from lost workers |
/// | jobs_running | gauge | | jobs that run in this process |
/// | jobs_depth | gauge | queue, state | unfinished jobs |
/// | jobs_oldest_ready_seconds | gauge | queue | age of the oldest job that could run |
/// | jobs_oldest_snapshot_seconds | gauge | | age of the oldest snapshot, which keeps dead rows alive |
/// | jobs_dead_rows | gauge | | dead rows of the hot table |
/// | jobs_history_default_rows | gauge | | history rows that no day's partition took; above 0 partitions are missing |
struct WorkerMetrics: Sendable {
    struct Kind: Sendable {
        let run: Timer
        let wait: Timer
        let exhausted: Counter
        let finished: [String: Counter]

        init(_ kind: String) {
            run = Timer(label: "jobs_run_seconds", dimensions: [("kind", kind)])
            wait = Timer(label: "jobs_wait_seconds", dimensions: [("kind", kind)])
            exhausted = Counter(label: "jobs_exhausted_total", dimensions: [("kind", kind)])
            finished = Dictionary(
                uniqueKeysWithValues: WorkerMetrics.outcomes.map { outcome in
                    (
                        outcome,
                        Counter(label: "jobs_finished_total", dimensions: [("kind", kind), ("outcome", outcome)])
                    )
                }
            )
        }
    }

    static let outcomes = ["completed", "cancelled", "discarded", "retried", "snoozed", "parked", "released"]

    let kinds: [String: Kind]
    let leasesLost = Counter(label: "jobs_leases_lost_total")
    let rescued = Counter(label: "jobs_rescued_total")
    let running = Gauge(label: "jobs_running")
    let oldestSnapshot = Gauge(label: "jobs_oldest_snapshot_seconds")
    let deadRows = Gauge(label: "jobs_dead_rows")
    let defaultRows = Gauge(label: "jobs_history_default_rows")

    init(kinds: [String]) {
        self.kinds = Dictionary(uniqueKeysWithValues: kinds.map { ($0, Kind($0)) })
    }

    func finished(_ kind: String, _ verdict: Verdict) {
        guard let kind = kinds[kind] else { return }
        let outcome: String
        switch verdict {
        case .end(let end, _, _, _): outcome = end.rawValue
        case .giveBack(_, let givesAttemptBack, _, let isExhausted, _):
            outcome = givesAttemptBack ? "snoozed" : "retried"
            if isExhausted { kind.exhausted.increment() }
        case .park: outcome = "parked"
        case .release: outcome = "released"
        case .nothing: return
        }
        kind.finished[outcome]?.increment()
    }

    func depth(queue: String, state: String, _ count: Int) {
        Gauge(label: "jobs_depth", dimensions: [("queue", queue), ("state", state)]).record(count)
    }

    func oldestReady(queue: String, seconds: Double) {
        Gauge(label: "jobs_oldest_ready_seconds", dimensions: [("queue", queue)]).record(seconds)
    }
}
