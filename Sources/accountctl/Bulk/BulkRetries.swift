import Terminal

/// Decides how often a bulk run asks a database again that is away, a little longer apart each time.
struct BulkRetries {
    private static let waits: [Duration] = [.seconds(1), .seconds(2), .seconds(5), .seconds(10), .seconds(20)]

    /// What comes before the next try.
    struct Pause {
        let wait: Duration
        /// How long it may be until the last try has failed, where each fails to connect.
        let longest: Duration

        /// As somebody is told who wonders whether to wait.
        var words: String {
            "trying again in \(Wording.length(wait)), and for about \(Wording.length(longest)) in all"
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
