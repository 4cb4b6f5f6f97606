import Settings

/// Decides how a bulk run goes on: how many accounts next, how long to wait, whether to stop.
struct BulkPace: Equatable {
    /// The most accounts of one transaction.
    static let largestBatch = 500

    private let rate: Rate?
    private let stopAfter: Int
    /// What was done to how many.
    private(set) var counts: [BulkResult.Outcome: Int] = [:]

    init(rate: Rate? = nil, stopAfter: Int = 10) {
        self.rate = rate
        self.stopAfter = stopAfter
    }

    /// Why the last account failed that did.
    private(set) var lastError: String?

    /// How many accounts were worked on.
    var done: Int { counts.values.reduce(0, +) }

    /// Whether so many failed that something is wrong with more than single accounts.
    var isStopped: Bool { counts[.failed, default: 0] >= stopAfter }

    /// How many accounts one transaction takes: with a rate, what it allows in a quarter of a second.
    var batch: Int {
        guard let rate else { return Self.largestBatch }
        return min(Self.largestBatch, max(1, Int(Double(rate.count) / (rate.per / .seconds(1)) / 4)))
    }

    /// How long to wait until the next batch may begin.
    func wait(elapsed: Duration) -> Duration {
        guard let rate else { return .zero }
        let due = Duration.seconds(Double(done) * (rate.per / .seconds(1)) / Double(rate.count))
        return max(.zero, due - elapsed)
    }

    mutating func add(_ results: [BulkResult]) {
        for result in results { counts[result.outcome, default: 0] += 1 }
        lastError = results.last { $0.error != nil }?.error ?? lastError
    }
}
