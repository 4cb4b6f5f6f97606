import Terminal

/// The retry schedule of a bulk run whose database is unreachable, with growing waits.
struct BulkRetries {
    private static let waits: [Duration] = [1, 2, 5, 10, 20, 30, 30, 30, 30].map { .seconds($0) }

    /// The pause before the next retry.
    struct Pause {
        let wait: Duration
        /// The longest time until the last retry has failed, if each takes its full time limit; much shorter if the
        /// server refuses connections at once.
        let longest: Duration

        /// The message for an operator who is waiting.
        var words: String {
            "trying again in \(Wording.length(wait)), and for at most \(Wording.length(longest)) more"
        }
    }

    private let each: Duration
    private var left = Self.waits[...]

    /// - Parameter each: the time limit of a single try.
    init(each: Duration) {
        self.each = each
    }

    /// The pause before the next retry; nil if there are no retries left.
    mutating func next() -> Pause? {
        let longest = left.reduce(.zero) { $0 + $1 + each }
        return left.popFirst().map { Pause(wait: $0, longest: longest) }
    }
}
