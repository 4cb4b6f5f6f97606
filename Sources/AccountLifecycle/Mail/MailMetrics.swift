import MailRelay
import Metrics

/// The counters of mail checks; ``MailGauges`` publishes the state of the streams.
enum MailMetrics {
    /// Counts a check.
    static func checked(_ report: StreamReport, isChange: Bool, took: Duration) {
        let stream = ("stream", report.stream.name)
        Counter(
            label: "accountctl_mail_checks_total",
            dimensions: [stream, ("conclusion", report.conclusion.rawValue)]
        )
        .increment()
        Timer(label: "accountctl_mail_check_duration_seconds", dimensions: [stream])
            .recordNanoseconds(took.components.seconds * 1_000_000_000 + took.components.attoseconds / 1_000_000_000)
        if isChange {
            Counter(label: "accountctl_mail_verdict_changes_total", dimensions: [stream]).increment()
        }
    }
}
