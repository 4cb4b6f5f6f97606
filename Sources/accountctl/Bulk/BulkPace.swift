import Settings

/// Decides the next batch size of a bulk run, the wait before it, and whether to stop.
struct BulkPace: Equatable {
    /// The most accounts in one transaction.
    static let largestBatch = 500

    private let rate: Rate?
    private let stopAfter: Int
    /// The number of accounts per outcome.
    private(set) var counts: [BulkResult.Outcome: Int] = [:]

    init(rate: Rate? = nil, stopAfter: Int = 10) {
        self.rate = rate
        self.stopAfter = stopAfter
    }

    /// The error of the most recent account that failed.
    private(set) var lastError: String?

    /// How many accounts were processed.
    var done: Int { counts.values.reduce(0, +) }

    /// Whether so many accounts failed that the cause probably lies beyond single accounts.
    var isStopped: Bool { counts[.failed, default: 0] >= stopAfter }

    /// How many accounts the next transaction takes: with a rate, those that it allows in a quarter of a second.
    var batch: Int {
        guard let rate else { return Self.largestBatch }
        return min(Self.largestBatch, max(1, Int(Double(rate.count) / (rate.per / .seconds(1)) / 4)))
    }

    /// How long to wait before the next batch, given the time since the start of the run.
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
