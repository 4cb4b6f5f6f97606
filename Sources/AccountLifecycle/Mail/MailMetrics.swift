import MailRelay
import Metrics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the mail checks tell monitoring.
enum MailMetrics {
    /// Counts a check, and sets how its stream stands.
    static func checked(_ report: StreamReport, _ settled: MailCheckStore.Settled, took: Duration, at now: Date) {
        let stream = ("stream", report.stream.name)
        Counter(
            label: "accountctl_mail_checks_total",
            dimensions: [stream, ("conclusion", report.conclusion.rawValue)]
        )
        .increment()
        Timer(label: "accountctl_mail_check_duration_seconds", dimensions: [stream])
            .recordNanoseconds(took.components.seconds * 1_000_000_000 + took.components.attoseconds / 1_000_000_000)
        if settled.change != nil {
            Counter(label: "accountctl_mail_verdict_changes_total", dimensions: [stream]).increment()
        }
        guard let known = settled.standing.known else { return }
        // 1: mail gets through, 0: it does not, -1: it was never known.
        Gauge(label: "accountctl_mail_stream_reachable", dimensions: [stream]).record(known.reachable.number)
        Gauge(label: "accountctl_mail_path_ok", dimensions: [stream, ("path", "spf")]).record(known.spf.number)
        Gauge(label: "accountctl_mail_path_ok", dimensions: [stream, ("path", "dkim")]).record(known.dkim.number)
        if let confirmed = settled.standing.confirmedAt {
            Gauge(label: "accountctl_mail_verdict_age_seconds", dimensions: [stream])
                .record(now.timeIntervalSince(confirmed))
        }
    }
}

extension Reachability {
    fileprivate var number: Double {
        switch self {
        case .yes: 1
        case .no: 0
        case .unknown: -1
        }
    }
}

extension PathVerdict {
    fileprivate var number: Double {
        switch self {
        case .ok: 1
        case .weak: 0.5
        case .broken: 0
        case .unknown: -1
        }
    }
}
