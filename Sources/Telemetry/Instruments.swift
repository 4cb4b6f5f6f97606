import CoreMetrics
import Synchronization

/// A counter: a number that only grows.
final class CounterInstrument: Instrument, CounterHandler {
    static let kind = "counter"
    private let value = Mutex(0.0)

    func increment(by amount: Int64) { value.withLock { $0 += Double(amount) } }
    func reset() { value.withLock { $0 = 0 } }

    func write(name: String, labels: String, to text: inout PrometheusText) {
        text.sample(name, labels, value.withLock { $0 })
    }
}

/// A gauge: a number that goes up and down.
final class GaugeInstrument: Instrument, RecorderHandler {
    static let kind = "gauge"
    private let value = Mutex(0.0)

    func record(_ new: Int64) { record(Double(new)) }
    func record(_ new: Double) { value.withLock { $0 = new } }

    func write(name: String, labels: String, to text: inout PrometheusText) {
        text.sample(name, labels, value.withLock { $0 })
    }
}

/// A histogram: the distribution of values.
final class HistogramInstrument: Instrument, TimerHandler, RecorderHandler {
    static let kind = "histogram"
    /// Bucket bounds in seconds, from a statement to a slow remote call.
    static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]
    static let sizes = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].map(Double.init)

    private struct State {
        var counts: [Int64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func write(name: String, labels: String, to text: inout PrometheusText) {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        var total: Int64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? PrometheusText.number(bounds[index]) : "+Inf"
            let separator = labels.isEmpty ? "" : ","
            text.sample(name + "_bucket", labels + separator + "le=\"\(bound)\"", Double(total))
        }
        text.sample(name + "_sum", labels, sum)
        text.sample(name + "_count", labels, Double(total))
    }
}
