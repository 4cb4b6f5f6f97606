import Metrics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells monitoring when figures were read: they keep their last values while the database is away.
///
/// Set to the process's start until the first read, so that an alarm on age can fire.
struct FigureStamp: Sendable {
    /// What the figures are of.
    let figures: String
    let factory: any MetricsFactory

    init(_ figures: String, factory: any MetricsFactory = MetricsSystem.factory) {
        self.figures = figures
        self.factory = factory
    }

    /// The figures are those of this moment.
    func record(_ moment: Date) {
        Gauge(label: "accountctl_figures_timestamp_seconds", dimensions: [("figures", figures)], factory: factory)
            .record(moment.timeIntervalSince1970)
    }
}
