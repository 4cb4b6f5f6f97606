package import CoreMetrics
import Synchronization

/// Keeps the process's metrics and writes them in Prometheus's format.
///
/// The number of series is bounded: a label with unlimited values would use up the memory of the process, so beyond
/// ``maximumSeries`` new series are dropped and their uses counted in a series of their own.
package final class MetricsRegistry: MetricsFactory {
    /// A metric's name with its labels.
    struct Series: Hashable {
        let name: String
        let labels: [String: String]

        init(_ label: String, _ dimensions: [(String, String)]) {
            name = PrometheusText.name(label)
            labels = Dictionary(dimensions.map { (PrometheusText.labelName($0.0), $0.1) }) { _, last in last }
        }
    }

    private struct State {
        var instruments: [Series: any Instrument] = [:]
        var dropped: Int64 = 0
    }

    private let maximumSeries: Int
    private let help: [String: String]
    private let state = Mutex(State())

    /// Creates an empty registry; `help` describes metrics by name, in one line each.
    package init(maximumSeries: Int = 5000, help: [String: String] = [:]) {
        self.maximumSeries = maximumSeries
        self.help = help
    }

    /// All metrics in Prometheus's text format 0.0.4, ordered by name.
    package func text() -> String {
        let (instruments, dropped) = state.withLock { ($0.instruments, $0.dropped) }
        var text = PrometheusText()
        for (name, group) in Dictionary(grouping: instruments, by: { $0.key.name }).sorted(by: { $0.key < $1.key }) {
            let ordered = group.map { (labels: PrometheusText.labels($0.key.labels), instrument: $0.value) }
                .sorted { $0.labels < $1.labels }
            guard let first = ordered.first else { continue }
            if let words = help[name] { text.help(name, words) }
            text.type(name, type(of: first.instrument).kind)
            for entry in ordered { entry.instrument.write(name: name, labels: entry.labels, to: &text) }
        }
        if dropped > 0 {
            text.help("metrics_dropped_series_total", "Uses of series that are not kept, since there were too many.")
            text.type("metrics_dropped_series_total", "counter")
            text.sample("metrics_dropped_series_total", "", Double(dropped))
        }
        return text.text
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(Series(label, dimensions)) { CounterInstrument() }
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        aggregate
            ? instrument(Series(label, dimensions)) { HistogramInstrument(bounds: HistogramInstrument.sizes) }
            : instrument(Series(label, dimensions)) { GaugeInstrument() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(Series(label, dimensions)) { HistogramInstrument(bounds: HistogramInstrument.seconds) }
    }

    // Series outlive the handles that callers create and drop for each event; they are removed when one is destroyed.
    package func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    private func forget(_ handler: AnyObject) {
        state.withLock { state in
            guard let series = state.instruments.first(where: { $0.value === handler })?.key else { return }
            state.instruments[series] = nil
        }
    }

    private func instrument<Kind: Instrument>(_ series: Series, _ make: () -> Kind) -> Kind {
        state.withLock { state in
            if let known = state.instruments[series] {
                // The same name with another type is a caller's mistake; it gets an instrument that nobody reads.
                return known as? Kind ?? make()
            }
            let made = make()
            if state.instruments.count < maximumSeries {
                state.instruments[series] = made
            } else {
                state.dropped += 1
            }
            return made
        }
    }
}

/// One series that can write its samples.
protocol Instrument: AnyObject, Sendable {
    static var kind: String { get }
    func write(name: String, labels: String, to text: inout PrometheusText)
}
