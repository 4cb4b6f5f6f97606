import Terminal

/// Decides how often a bulk run asks a database again that is away, a little longer apart each time.
struct BulkRetries {
    private static let waits: [Duration] = [1, 2, 5, 10, 20, 30, 30, 30, 30].map { .seconds($0) }

    /// What comes before the next try.
    struct Pause {
        let wait: Duration
        /// How long it may be until the last try has failed, where each takes all its time; much less where the
        /// server refuses.
        let longest: Duration

        /// What somebody is told who wonders whether to wait.
        var words: String {
            "trying again in \(Wording.length(wait)), and for at most \(Wording.length(longest)) more"
        }
    }

    private let each: Duration
    private var left = Self.waits[...]

    /// - Parameter each: how long a try may take.
    init(each: Duration) {
        self.each = each
    }

    /// The pause before the next try; nil when there is none.
    mutating func next() -> Pause? {
        let longest = left.reduce(.zero) { $0 + $1 + each }
        return left.popFirst().map { Pause(wait: $0, longest: longest) }
    }
}
