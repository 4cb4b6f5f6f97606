import Metrics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Publishes the time at which figures were read: gauges keep their last values while the database is unreachable.
///
/// Until the first read it is the start time of the process, so that an alarm on age can fire.
struct FigureStamp: Sendable {
    /// The subject of the figures.
    let figures: String
    let factory: any MetricsFactory

    init(_ figures: String, factory: any MetricsFactory = MetricsSystem.factory) {
        self.figures = figures
        self.factory = factory
    }

    /// Publishes `moment` as the time at which the figures were read.
    func record(_ moment: Date) {
        Gauge(label: "accountctl_figures_timestamp_seconds", dimensions: [("figures", figures)], factory: factory)
            .record(moment.timeIntervalSince1970)
    }
}
